package offer

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"molar/schemas"
)

// CutDescriptions says of each tool whose description is too long for the room for tools how much of it models are
// shown, by name, where all of the tools are offered together. The room is tokens, or depends on the window
// if that is 0; at most so many tools are offered.
func CutDescriptions(tools []schemas.ToolInfo, tokens, most int) map[string]string {
	windows := []int{4 << 10, 8 << 10, 16 << 10, 32 << 10, 0}
	if tokens > 0 {
		windows = []int{0}
	}
	parts := make([][]string, len(tools))
	forms := make([][]schemas.ToolInfo, len(windows))
	for i, window := range windows {
		room := tokens
		if room == 0 {
			room = DefaultTokens(window)
		}
		forms[i], _ = Forms(tools, room*TokenBytes, most)
	}
	for i, window := range windows {
		for j, form := range forms[i] {
			if form.Description == tools[j].Description || i+1 < len(windows) && forms[i+1][j].Description == form.Description {
				continue // it is told of the larger window
			}
			shown := fmt.Sprintf("%d with a window of up to %d tokens", utf8.RuneCountInString(form.Description), window)
			if window == 0 {
				shown = fmt.Sprintf("%d at most", utf8.RuneCountInString(form.Description))
			}
			parts[j] = append(parts[j], shown)
		}
	}
	told := make(map[string]string)
	for j, t := range tools {
		if len(parts[j]) > 0 {
			told[t.Name] = fmt.Sprintf("its description has %d tokens (%d characters); with all of these tools attached, models are shown so many characters: %s",
				len(t.Description)/TokenBytes, utf8.RuneCountInString(t.Description), strings.Join(parts[j], ", "))
		}
	}
	return told
}
