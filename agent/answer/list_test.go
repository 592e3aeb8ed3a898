package answer_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"molar/agent/answer"
	"molar/schemas"
)

// passage returns a result of the search of a folder as JSON.
func passage(title, link string, place schemas.Place) string {
	data, _ := json.Marshal(map[string]any{"title": title, "content": "text of " + title, "link": link, "place": place})
	return string(data)
}

func TestList_Passages(t *testing.T) {
	page := schemas.Place{Folder: "handbook", File: "leave.pdf", Page: 3}
	other := schemas.Place{Folder: "handbook", File: "leave.pdf", Page: 4}
	heading := schemas.Place{Folder: "handbook", File: "rules/pay.md", Line: 9, Heading: "Sick pay", Anchor: "sick-pay"}
	found := `{"results":[` + strings.Join([]string{
		passage("Leave", "leave.pdf", page), passage("Leave again", "leave.pdf", page), passage("Leave", "leave.pdf", other),
		passage("Pay", "https://docs.example.com/rules/pay.md#sick-pay", heading),
	}, ",") + `]}`
	places := []schemas.Source{
		{Title: "Leave", Place: &page},
		{Title: "Leave", Place: &other},
		{Title: "Pay", URL: "https://docs.example.com/rules/pay.md#sick-pay", Place: &heading},
	}
	for _, tt := range []struct {
		name, server, tool, output string
		want                       []schemas.Source
	}{
		{"a folder of this host: each place once", schemas.ToolServer, "handbook", found, places},
		{"what may fit", schemas.ToolServer, "handbook", `{"results":[],"perhaps":[` + passage("Leave", "leave.pdf", page) + `]}`, places[:1]},
		{"a foreign server: no place", "notes", "handbook", found, []schemas.Source{{Title: "Pay", URL: places[2].URL}}},
		{"another tool of this host, such as a page of the web: no place", schemas.ToolServer, "duckduckgo_search", found, []schemas.Source{{Title: "Pay", URL: places[2].URL}}},
		{"no title", schemas.ToolServer, "handbook", `{"results":[` + passage("", "", page) + `]}`, []schemas.Source{{Title: "leave.pdf", Place: &page}}},
		{"no file", schemas.ToolServer, "handbook", `{"results":[` + passage("Leave", "", schemas.Place{Folder: "handbook"}) + `]}`, nil},
		{"another form", schemas.ToolServer, "handbook", `{"results":[{"title":"Leave","place":"leave.pdf:3"}]}`, nil},
		{"nothing found", schemas.ToolServer, "handbook", `{"results":[]}`, nil},
	} {
		var list answer.List
		list.AddResult(schemas.ToolResult{Server: tt.server, ToolName: tt.tool, Output: json.RawMessage(tt.output)})
		if diff := cmp.Diff(tt.want, list.All()); diff != "" {
			t.Errorf("%s (-want +got)\n%s", tt.name, diff)
		}
	}
	var list answer.List
	list.Add(schemas.Source{Title: "Pay", URL: "https://docs.example.com", Place: &page}, schemas.Source{Title: "Pay", Place: &page})
	if diff := cmp.Diff([]schemas.Source{{Title: "Pay", URL: "https://docs.example.com"}}, list.All()); diff != "" {
		t.Errorf("a link with a place (-want +got)\n%s", diff)
	}
}

// Of a result that the model was shown a part of, the passages in that part are sources.
func TestList_CutPassages(t *testing.T) {
	first, last := schemas.Place{Folder: "handbook", File: "a.md", Line: 1}, schemas.Place{Folder: "handbook", File: "b.md", Line: 1}
	whole := `{"results":[` + passage("A", "", first) + `,` + passage("B", "", last) + `]}`
	shown, _, _ := strings.Cut(whole, "text of B")
	var list answer.List
	list.AddCut(schemas.ToolResult{Server: schemas.ToolServer, ToolName: "handbook", Output: schemas.TextOutput(shown + "\n[… cut …]\n"), Cut: &schemas.Cut{}}, whole)
	if diff := cmp.Diff([]schemas.Source{{Title: "A", Place: &first}}, list.All()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// The list shows title, link and place, in the language of the answer; no name escapes from its line.
func TestMarkdown(t *testing.T) {
	sources := []schemas.Source{
		{Title: "Web", URL: "https://a.example/x"},
		{Title: "Nghỉ phép", Place: &schemas.Place{Folder: "handbook", File: "phép năm.pdf", Page: 3}},
		{Title: "Lương", URL: "https://docs.example.com/luong.xlsx", Place: &schemas.Place{Folder: "handbook", File: "luong.xlsx", Sheet: "2026", Line: 12}},
		{Title: "Lương - Thử việc", URL: "https://docs.example.com/luong.md#thu-viec", Place: &schemas.Place{Folder: "handbook", File: "luong.md", Line: 7, Heading: "Thử việc", Anchor: "thu-viec"}},
		{Title: "x](https://evil.example) [y", Place: &schemas.Place{Folder: "handbook", File: "a\n# [b](https://evil.example)<img>.md"}},
	}
	const want = `Nguồn:

1. [Web](https://a.example/x)
2. Nghỉ phép (phép năm.pdf, trang 3)
3. [Lương](https://docs.example.com/luong.xlsx) (luong.xlsx, 2026, dòng 12)
4. [Lương - Thử việc](https://docs.example.com/luong.md#thu-viec)
5. x\](https://evil.example) \[y (a # \[b\](https://evil.example)\<img>.md)`
	if diff := cmp.Diff(want, answer.Markdown("Nguồn:", "vi", sources)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
