package offline

import (
	"encoding/json"
	"strings"

	"molar/schemas"
)

// mostPerhaps is how many passages are quoted that hold only a part of a question, maxPerhaps how many
// bytes of each.
const mostPerhaps, maxPerhaps = 2, 800

// Texts around such passages.
const (
	unsureEnglish     = "I found nothing that surely answers this."
	unsureVietnamese  = "Chưa tìm được nội dung nào chắc chắn trả lời câu này."
	perhapsEnglish    = "Perhaps this is about it:"
	perhapsVietnamese = "Có lẽ những đoạn sau nói về việc đó:"
)

// unsure says that nothing surely fits, and quotes what perhaps does. After an earlier answer it says
// what [lost] says then.
func unsure(t turn) string {
	said := pick(t.vietnamese, unsureVietnamese, unsureEnglish)
	if t.about != "" && t.hasAnswered() {
		said = lost(t)
	}
	return said + "\n\n" + t.perhaps
}

// perhaps quotes what a search without a result offers instead, with its places; it returns "" if it
// offers nothing.
func perhaps(r schemas.ToolResult, vietnamese bool) string {
	var found struct {
		Perhaps []struct {
			Title, Content string
			Place          schemas.Place
		}
	}
	if !r.IsPerhaps() || json.Unmarshal(r.Output, &found) != nil {
		return ""
	}
	said := []string{pick(vietnamese, perhapsVietnamese, perhapsEnglish)}
	for _, p := range found.Perhaps[:min(len(found.Perhaps), mostPerhaps)] {
		place := ""
		if p.Place.File != "" {
			place = " (" + oneLine(p.Place.Text(pick(vietnamese, "vi", "en"))) + ")"
		}
		said = append(said, strings.TrimRight(oneLine(p.Title), ".:")+place+": "+sentences(oneLine(p.Content), maxPerhaps))
	}
	return strings.Join(said, "\n\n")
}
