package answer_test

import (
	"encoding/json"
	"strings"
	"testing"

	"molar/agent/answer"
	"molar/schemas"
)

func TestUsed(t *testing.T) {
	const found = `{"results":[
		{"title":"Brushing your teeth","content":"Brush for two minutes, last thing at night and on one other occasion. Use a soft brush with a small head.","link":"https://a.example/brushing"},
		{"title":"Choosing a toothpaste","content":"Take a toothpaste with fluoride. Spit after brushing and do not rinse with water.","link":"https://a.example/toothpaste"},
		{"title":"What dental treatment costs","content":"Ask for a written plan with each step and its price. Prices on the web are a frame.","link":"https://a.example/costs"}]}`
	const french = `{"results":[
		{"title":"Le brossage","content":"Brossez vos dents pendant deux minutes, le soir et une autre fois dans la journée.","link":"https://a.example/brossage"},
		{"title":"Le dentifrice","content":"Prenez un dentifrice au fluor et ne rincez pas votre bouche après.","link":"https://a.example/dentifrice"}]}`
	const all = "brushing toothpaste costs"
	for _, tt := range []struct {
		name, output, answer string
		quotes               bool
		want                 string
	}{
		{"a model's own words", found, "Two minutes in the evening, and once more.", false, all},
		{"a model that quotes", found, "Brush for two minutes, last thing at night and on one other occasion. Fluoride helps.", false, all},
		{"another language", found, "Hãy chải răng hai phút, mỗi ngày hai lần.", false, all},
		{"nothing that fits, says a model", found, "I could not find this in the passages.", false, all},
		{"by numbers", found, "Take one with fluoride [2]. [See here](https://a.example)", false, "brushing toothpaste"},
		{"by a number that is none", found, "Brush for two minutes [7].", false, all},
		{"no answer", found, "", false, all},
		{"quotes one", found, "Brushing your teeth: Brush for two minutes, last thing at night and on one other occasion.", true, "brushing"},
		{"quotes two", found, "Brush for two minutes, last thing at night and on one other occasion. Prices on the web are a frame. Spit after brushing and do not rinse with water.", true, "brushing toothpaste"},
		{
			"quotes lines in one", `{"results":[{"title":"Prices","content":"Service: scaling; Price: 300,000\n\nService: filling;  Price: 450,000","link":"https://a.example/prices"}]}`,
			"Prices: Service: scaling; Price: 300,000 Service: filling; Price: 450,000", true, "prices",
		},
		{
			"quotes what may fit", `{"results":[],"perhaps":[{"title":"Costs","content":"Ask for a written plan with each step and its price.","link":"https://a.example/costs"},
				{"title":"Brushing","content":"Brush for two minutes, last thing at night.","link":"https://a.example/brushing"}]}`,
			"Perhaps this is about it: Ask for a written plan with each step and its price.", true, "costs",
		},
		{"quotes nothing", found, "I am an automatic assistant that quotes what is written, and I found nothing more for this.", true, ""},
		{"quotes in another language", french, "Prenez un dentifrice au fluor et ne rincez pas votre bouche après.", true, "dentifrice"},
	} {
		got := answer.Used(schemas.ToolResult{Output: json.RawMessage(tt.output)}, tt.answer, tt.quotes)
		var list answer.List
		list.AddResult(got)
		var names []string
		for _, s := range list.All() {
			names = append(names, s.URL[strings.LastIndex(s.URL, "/")+1:])
		}
		if names := strings.Join(names, " "); names != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, names, tt.want)
		}
	}
	for _, output := range []string{`"text"`, `{"results":7}`, `[]`, `null`, ``, `{"results":[1,2]}`} {
		if got := answer.Used(schemas.ToolResult{Output: json.RawMessage(output)}, "x", false); string(got.Output) != output {
			t.Errorf("%q became %q", output, got.Output)
		}
	}
}
