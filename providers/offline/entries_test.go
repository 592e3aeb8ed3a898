package offline_test

import (
	"encoding/json"
	"strings"
	"testing"

	"molar/providers"
	"molar/schemas"
)

// Structured search results are told like those in text: the best entry, the others by
// title, without scores and links.
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
	if want := "Brushing: Brush teeth twice a day.\n\nAlso found: Other"; !strings.Contains(answer.String(), want) {
		t.Errorf("answer %q does not hold %q", answer.String(), want)
	}
	for _, unwanted := range []string{"score", "https://", "Nothing of interest"} {
		if strings.Contains(answer.String(), unwanted) {
			t.Errorf("answer %q holds %q", answer.String(), unwanted)
		}
	}
}

// The last sentence of an entry is often the one that says when to see someone.
func TestAnswer_firstEntryWhole(t *testing.T) {
	advice := strings.Repeat("Rinse the mouth with salt water. ", 25) + "See a dentist within two days, and at once when the swelling grows."
	text, err := json.Marshal("Title: Abscess\nContent: " + advice + "\nLink: https://a.example\n---\nTitle: Toothache\nContent: " + advice + "\n---\nTitle: Swelling\nContent: Cold helps.")
	if err != nil {
		t.Fatal(err)
	}
	for language, also := range map[string]string{"en": "Also found: Toothache; Swelling", "vi": "Cũng tìm thấy: Toothache; Swelling"} {
		req := after("What helps?", nil, nil, schemas.ToolResult{ToolName: "guide", Output: text})
		req.Language = language
		if got := run(t, req).text; !strings.Contains(got, "Abscess: "+advice+"\n\n"+also+"\n\n") || strings.Count(got, "salt water") != 25 {
			t.Errorf("%s: %s", language, got)
		}
	}
}

// What is longer than a bound ends with a sentence, and shows that more was there.
func TestAnswer_cutsAtASentence(t *testing.T) {
	for name, sentences := range map[string]int{"text": 100, "field": 20} {
		long := strings.Repeat("Rinse the mouth with salt water. ", sentences)
		output := any(long)
		if name == "field" {
			output = map[string]string{"advice": long, "by": "somebody"}
		}
		data, err := json.Marshal(output)
		if err != nil {
			t.Fatal(err)
		}
		got := run(t, after("What helps?", nil, nil, schemas.ToolResult{ToolName: "t", Output: data})).text
		if whole := strings.Count(got, "salt water. "); !strings.Contains(got, "salt water. …\n") || strings.Count(got, "Rinse") != whole || whole == sentences {
			t.Errorf("%s: %s", name, got)
		}
	}
}
