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
	for _, tt := range []struct{ name, output, answer, want string }{
		{"one", found, "Brush for two minutes, last thing at night and on one other occasion in the day.", "brushing"},
		{"two", found, "Brush for two minutes, last thing at night. Use a soft brush. Take a toothpaste with fluoride, and do not rinse with water.", "brushing toothpaste"},
		{"another language", found, "Hãy chải răng hai phút, mỗi ngày hai lần.", "brushing toothpaste costs"},
		{"nothing that fits", found, "I am an automatic assistant that quotes what is written, and I found nothing more for this. What I said before was about what you had told me then. If something is new or has got worse, it may not be enough: have it looked at now. For anything else, ask a whole question, and I will look again.", ""},
		{"nothing that fits, in another language", found, "Mình là trợ lý tự động, chỉ trích những gì có sẵn, và chưa tìm được gì thêm cho câu này. Những điều mình đã nói là cho những gì bạn kể lúc đó. Nếu có điều gì mới hoặc nặng hơn, chúng có thể chưa đủ: hãy nhờ người có chuyên môn xem ngay. Nếu hỏi điều khác, bạn hỏi bằng một câu đầy đủ giúp mình nhé.", "brushing toothpaste costs"},
		{
			"neither Vietnamese nor English", french,
			"Putze zwei Minuten lang, abends und noch einmal am Tag, und nimm dafür eine weiche Bürste mit einem kleinen Kopf und eine Zahnpasta mit Fluorid.", "brossage dentifrice",
		},
		{"too little to tell", found, "Twice.", "brushing toothpaste costs"},
		{"by numbers", found, "Take one with fluoride [2]. [See here](https://a.example)", "brushing toothpaste"},
		{"by a number that is none", found, "Brush for two minutes, last thing at night and on one other occasion [7].", "brushing"},
		{"no answer", found, "", "brushing toothpaste costs"},
	} {
		got := answer.Used(schemas.ToolResult{Output: json.RawMessage(tt.output)}, tt.answer)
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
		if got := answer.Used(schemas.ToolResult{Output: json.RawMessage(output)}, "x"); string(got.Output) != output {
			t.Errorf("%q became %q", output, got.Output)
		}
	}
}
