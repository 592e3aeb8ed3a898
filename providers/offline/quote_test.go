package offline_test

import (
	"encoding/json"
	"strings"
	"testing"

	"molar/providers"
	"molar/schemas"
)

// after is a request in which calls were made and gave results.
func after(text string, tools []schemas.ToolInfo, calls []schemas.ToolCall, results ...schemas.ToolResult) providers.Request {
	req := ask(text, tools)
	req.Pass = providers.PassAnswer
	made := schemas.Message{Role: schemas.RoleAssistant}
	for _, c := range calls {
		made.Parts = append(made.Parts, schemas.Part{Kind: schemas.PartCall, Call: &c})
	}
	gave := schemas.Message{Role: schemas.RoleTool}
	for _, r := range results {
		gave.Parts = append(gave.Parts, schemas.Part{Kind: schemas.PartResult, Text: "fenced", Result: &r})
	}
	req.Messages = append(req.Messages, made, gave)
	return req
}

func TestAnswer_quotes(t *testing.T) {
	family := `{"familyId":"` + idA + `","name":"Nguyen","address":"","members":[
		{"id":"m1","name":"Nguyen Van A","dob":"1970-01-01","parents":[]},
		{"id":"m2","name":"Tran Thi B","dob":"1972-05-06","children":[{"name":"Nguyen Van C"}]}]}`
	results := `"Title: Brushing\nContent: Brush twice a day with fluoride paste.\nLink: https://example.com/brush\n---\nTitle: Other\nContent: Nothing of note.\nLink: https://example.com/other"`
	for _, tt := range []struct {
		name     string
		result   schemas.ToolResult
		want     []string
		wantNone []string
	}{
		{
			"nested objects",
			schemas.ToolResult{ToolName: "get_family_details", Output: json.RawMessage(family)},
			[]string{"get_family_details", "familyId: " + idA, "name: Nguyen\n", "members:\n", "- id: m1, name: Nguyen Van A, dob: 1970-01-01", "Tran Thi B", "1972-05-06", "Nguyen Van C"},
			[]string{"address", "parents", "{", "}"},
		},
		{
			"search results",
			schemas.ToolResult{ToolName: "guide", Output: json.RawMessage(results)},
			[]string{"Brushing: Brush twice a day with fluoride paste."},
			[]string{"Title:", "Content:", "Link:", "https://", "---"},
		},
		{"plain text", schemas.ToolResult{ToolName: "echo", Output: json.RawMessage(`"hello there"`)}, []string{"hello there"}, nil},
		{"a number", schemas.ToolResult{ToolName: "count", Output: json.RawMessage(`12345678901234567890`)}, []string{"12345678901234567890"}, nil},
		{"a list", schemas.ToolResult{ToolName: "list", Output: json.RawMessage(`["a","b",3]`)}, []string{"- a\n- b\n- 3"}, nil},
		{"an error", schemas.ToolResult{ToolName: "read_file", IsError: true, Output: json.RawMessage(`"no such file"`)}, []string{"The tool read_file reported an error: no such file"}, nil},
		{"an empty list", schemas.ToolResult{ToolName: "find", Output: json.RawMessage(`[]`)}, []string{"The tool find returned no results."}, nil},
		{"an empty text", schemas.ToolResult{ToolName: "find", Output: json.RawMessage(`""`)}, []string{"returned no results"}, nil},
		{"no JSON at all", schemas.ToolResult{ToolName: "odd", Output: json.RawMessage(`{"a":`)}, []string{`{"a":`}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := run(t, after("How do I brush?", nil, nil, tt.result))
			for _, w := range append(tt.want, "No model is configured", "GEMINI_API_KEY") {
				if !strings.Contains(o.text, w) {
					t.Errorf("lacks %q:\n%s", w, o.text)
				}
			}
			for _, w := range tt.wantNone {
				if strings.Contains(o.text, w) {
					t.Errorf("has %q:\n%s", w, o.text)
				}
			}
			if o.finish != providers.FinishStop || o.usage == nil || o.usage.CompletionTokens != len(strings.Fields(o.text)) {
				t.Errorf("finish %q, usage %+v", o.finish, o.usage)
			}
		})
	}
}

func TestAnswer_limits(t *testing.T) {
	many, err := json.Marshal(strings.Split(strings.Repeat("entry ", 500), " "))
	if err != nil {
		t.Fatal(err)
	}
	long, err := json.Marshal(strings.Repeat("đ", 100_000))
	if err != nil {
		t.Fatal(err)
	}
	deep := strings.Repeat(`{"a":[`, 60) + "1" + strings.Repeat(`]}`, 60)
	for name, output := range map[string]json.RawMessage{"many": many, "long": long, "deep": json.RawMessage(deep)} {
		if o := run(t, after("x", nil, nil, schemas.ToolResult{ToolName: "t", Output: output})); len([]rune(o.text)) > 2500 {
			t.Errorf("%s: %d runes", name, len([]rune(o.text)))
		}
	}
}

func TestAnswer_inVietnamese(t *testing.T) {
	req := after("Đánh răng thế nào?", nil, nil, schemas.ToolResult{ToolName: "guide", Output: json.RawMessage(`"Hai lần mỗi ngày."`)})
	req.Language = "vi"
	if o := run(t, req); !strings.Contains(o.text, "Kết quả từ guide") || !strings.Contains(o.text, "Chưa cấu hình mô hình nào") {
		t.Errorf("got %q", o.text)
	}
}

func TestAnswer_codeDrivenResult(t *testing.T) {
	req := providers.Request{Pass: providers.PassAnswer, Messages: []schemas.Message{
		schemas.Text(schemas.RoleUser, "An older question"), schemas.Text(schemas.RoleAssistant, "An older answer"),
		{Role: schemas.RoleUser, Parts: []schemas.Part{
			{Kind: schemas.PartText, Text: "What helps against plaque?"},
			{Kind: schemas.PartContext, Text: "fenced", Result: &schemas.ToolResult{ToolName: "search", Output: json.RawMessage(`"Title: Plaque\nContent: Floss daily."`)}},
		}},
	}}
	if o := run(t, req); !strings.Contains(o.text, "Plaque: Floss daily.") || strings.Contains(o.text, "older") {
		t.Errorf("got %q", o.text)
	}
	// Results beside the question do not keep a tool from being called.
	req.Tools = tuningTools()
	req.Messages[2].Parts[0].Text = "Read the file /etc/hosts"
	if o := run(t, req); len(o.calls) != 1 {
		t.Errorf("calls %v, text %q", o.calls, o.text)
	}
}
