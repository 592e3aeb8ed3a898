package offline_test

import (
	"encoding/json"
	"strings"
	"testing"

	"molar/providers"
	"molar/schemas"
)

// Structured search results are told like those in text: the best entries as
// paragraphs, without scores and links.
func TestProvider_structuredSearchResults(t *testing.T) {
	output := `{"results":[
		{"title":"Brushing","content":"Brush teeth twice a day.","link":"https://b.example","score":0.9},
		{"title":"Other","content":"Nothing of interest.","link":"https://a.example","score":0.1}]}`
	question := schemas.Message{Role: schemas.RoleUser, Parts: []schemas.Part{
		{Kind: schemas.PartText, Text: "How often should I brush my teeth?"},
		{Kind: schemas.PartContext, Text: "fenced", Result: &schemas.ToolResult{ToolName: "guide", Output: json.RawMessage(output)}},
	}}
	p := newProvider(t)
	var answer strings.Builder
	for chunk, err := range p.Stream(t.Context(), providers.Request{Pass: providers.PassAnswer, Messages: []schemas.Message{question}, Language: "en"}) {
		if err != nil {
			t.Fatal(err)
		}
		answer.WriteString(chunk.Text)
	}
	if want := "Brushing: Brush teeth twice a day.\n\nOther: Nothing of interest."; !strings.Contains(answer.String(), want) {
		t.Errorf("answer %q does not hold %q", answer.String(), want)
	}
	for _, unwanted := range []string{"score", "https://"} {
		if strings.Contains(answer.String(), unwanted) {
			t.Errorf("answer %q holds %q", answer.String(), unwanted)
		}
	}
}
