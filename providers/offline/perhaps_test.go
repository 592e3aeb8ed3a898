package offline_test

import (
	"strings"
	"testing"

	"molar/providers"
	"molar/schemas"
)

// A search without a result offers passages that hold a part of the question: the answer says that nothing
// surely fits, and quotes two of them with their places. After an earlier answer it also says what that
// does not cover.
func TestAnswer_Perhaps(t *testing.T) {
	const found = `{"results":[],"perhaps":[
		{"title":"Returns: Water","content":"Water damage is covered\nfor a year.","link":"r.md","place":{"folder":"shop","file":"returns.pdf","page":2}},
		{"title":"Batteries","content":"Changed for free.","link":"b.md"},{"title":"Third","content":"Not shown."}],"note":"Nothing surely answers this."}`
	const quoted = "Returns: Water (returns.pdf, page 2): Water damage is covered for a year.\n\nBatteries: Changed for free.\n\n("
	for name, tt := range map[string]struct {
		of   answerCase
		want []string
	}{
		"for a subject":           {answerCase{lang: "en", about: about, question: "x"}, []string{"I found nothing that surely answers this.\n\nPerhaps this is about it:\n\n" + quoted + "This is quoted"}},
		"for none":                {answerCase{lang: "en", question: "x"}, []string{"I found nothing that surely answers this.\n\n", quoted + "No model is configured"}},
		"in Vietnamese":           {answerCase{lang: "vi", about: about, question: "x"}, []string{"Chưa tìm được nội dung nào chắc chắn", "Có lẽ", "Returns: Water (returns.pdf, trang 2): "}},
		"after an earlier answer": {answerCase{lang: "en", about: about, question: "x", before: teething}, []string{"I found nothing more for this", earlier, "Perhaps this is about it:\n\n" + quoted}},
		"after another of its kind": {
			answerCase{lang: "en", about: about, question: "x", before: "I found nothing that surely answers this. x"},
			[]string{"I found nothing that surely answers this.\n\nPerhaps"},
		},
	} {
		tt.of.found = found
		got := run(t, tt.of.request()).text
		for _, want := range tt.want {
			if !strings.Contains(got, want) {
				t.Errorf("%s: %q is not in %q", name, want, got)
			}
		}
		if strings.Contains(got, "Not shown") {
			t.Errorf("%s: %q", name, got)
		}
	}
	called := providers.Request{Language: "en", Messages: []schemas.Message{
		schemas.Text(schemas.RoleUser, "x"),
		{Role: schemas.RoleTool, Parts: []schemas.Part{{Kind: schemas.PartResult, Result: &schemas.ToolResult{ToolName: "shop", Output: output(found)}}}},
	}}
	if got := run(t, called).text; !strings.HasPrefix(got, "I found nothing that surely answers this. Perhaps this is about it:\n\n"+quoted) {
		t.Errorf("after a call: %q", got)
	}
}
