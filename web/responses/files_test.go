package responses_test

import (
	"strings"
	"testing"

	"molar/web"
)

// withFile is a message of a person with a text file.
const withFile = `{"role":"user","content":[{"type":"input_text","text":"Read it."},{"type":"input_file","filename":"letter.txt","file_data":"data:text/plain;base64,eA=="}]}`

// files returns the names of the files of a turn's messages, the newest last, with "@" before those
// of the question.
func (h *host) files(i int) string {
	var all []string
	for _, m := range h.turn(i).Messages {
		for _, p := range m.Parts {
			if p.IsFile() {
				all = append(all, string(m.Role)+" "+p.Name)
			}
		}
	}
	for _, at := range h.turn(i).Attachments {
		all = append(all, "@"+at.Name)
	}
	return strings.Join(all, ", ")
}

// A turn has the names of the files of earlier messages, whether the history is sent whole,
// continued from stored or unstored responses, or compacted.
func TestFiles_OfEarlierMessages(t *testing.T) {
	h := serve(t, play(text("ok"), done()))
	first := h.create(`{"input":[{"role":"user","content":"Hello"},{"role":"assistant","content":"Hello!"},` + withFile + `]}`)
	if got := h.files(0); got != "@letter.txt" {
		t.Errorf("the question: %q", got)
	}
	const want = "user letter.txt"
	h.create(`{"input":[` + withFile + `,{"role":"assistant","content":"It is a letter."},{"role":"user","content":"And now?"}]}`)
	second := h.create(`{"input":"And now?","previous_response_id":"` + id(first) + `"}`)
	_, item := h.compact(`{"model":"dental","input":"More.","previous_response_id":"` + id(second) + `"}`)
	h.create(`{"input":[` + item + `,{"role":"assistant","content":"Yes."},{"role":"user","content":"Now?"}]}`)
	_, item = h.compact(`{"model":"dental","input":[` + item + `,{"role":"assistant","content":"Yes."}]}`)
	h.create(`{"input":[` + item + `,{"role":"user","content":"Now?"}]}`)
	for i := 1; i <= 4; i++ {
		if got := h.files(i); got != want {
			t.Errorf("turn %d: %q", i, got)
		}
	}
	h = serveWith(t, play(text("ok"), done()), func(cfg *web.Config) { cfg.Files = files{} })
	stored := h.create(`{"input":"Hello","conversation":"known"}`)
	h.create(`{"input":[{"role":"assistant","content":"Yes."},{"role":"user","content":"Now?"}],"previous_response_id":"` + id(stored) + `"}`)
	if got := h.files(1); got != "user x-ray.png, user note.txt" {
		t.Errorf("behind what is stored: %q", got)
	}
}
