package knowledge

import "testing"

// The web address of a passage leads to its heading, or to its page.
func TestFolder_link(t *testing.T) {
	f := &Folder{cfg: Config{Name: "handbook", Link: "https://docs.example.com/"}}
	for want, p := range map[string]passage{
		"https://docs.example.com/rules/leave.md#annual-leave": {file: "rules/leave.md", anchor: "annual-leave", line: 3},
		"https://docs.example.com/leave%20%231.pdf#page=3":     {file: "leave #1.pdf", anchor: "annual-leave", page: 3},
		"https://docs.example.com/plain.txt":                   {file: "plain.txt", line: 3},
	} {
		if got := f.link(p); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
