package offer

import (
	"fmt"
	"strings"
	"testing"

	"molar/schemas"
)

// A server whose tools have other names or words in each list does not fill the memory.
func TestReader_ForgetsWhatIsGone(t *testing.T) {
	var r reader
	stems, tools := 0, 0
	for round := range 1500 {
		var words strings.Builder
		for n := range 300 {
			fmt.Fprintf(&words, "w%dx%d ", round, n)
		}
		r.read([]schemas.ToolInfo{{Name: "same", Title: words.String()}, {Name: fmt.Sprint("tool", round)}})
		stems, tools = max(stems, len(r.stems)), max(tools, len(r.known))
	}
	if most := spareStems*(spareReadings+2) + 301; stems > most {
		t.Errorf("%d stems were kept, want %d at most", stems, most)
	}
	if most := spareReadings + 6; tools > most {
		t.Errorf("%d tools were kept, want %d at most", tools, most)
	}
}
