package live_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"iter"
	"strings"

	"molar/providers"
	"molar/schemas"
)

// A said is what a scripted model says to one request.
type said struct {
	text, thinking string
	calls          []schemas.FunctionCall
	notes          []string
	cached         int
	err            error
}

// A scripted model answers as its function says.
type scripted struct {
	says   func(providers.Request) said
	window int
	// counts is how many tokens it says that each prompt has; 0 means about right.
	counts int
}

func (s scripted) Name() string { return "openai" }

func (s scripted) Window(context.Context, string) int { return s.window }

func (s scripted) Stream(_ context.Context, req providers.Request) iter.Seq2[providers.Chunk, error] {
	return func(yield func(providers.Chunk, error) bool) {
		a := s.says(req)
		if a.err != nil {
			yield(providers.Chunk{}, a.err)
			return
		}
		var chunks []providers.Chunk
		if a.thinking != "" {
			chunks = append(chunks, providers.Chunk{Thinking: a.thinking})
		}
		if a.text != "" {
			chunks = append(chunks, providers.Chunk{Text: a.text})
		}
		for _, note := range a.notes {
			chunks = append(chunks, providers.Chunk{Note: note})
		}
		for _, f := range a.calls {
			chunks = append(chunks, providers.Chunk{Call: &schemas.ToolCall{ID: schemas.NewID(), Function: f}})
		}
		finish := providers.FinishStop
		if len(a.calls) > 0 {
			finish = providers.FinishToolCalls
		}
		prompt := len(req.System)/4 + 10
		for _, m := range req.Messages {
			for _, p := range m.Parts {
				prompt += min(len(p.Text), 1<<18) / 4
			}
		}
		for _, t := range req.Tools {
			prompt += (len(t.Name) + len(t.Description) + len(t.InputSchema)) / 4
		}
		usage := &schemas.Usage{PromptTokens: cmp.Or(s.counts, prompt), CompletionTokens: len(a.text)/4 + 1, CachedTokens: a.cached}
		for _, c := range append(chunks, providers.Chunk{Usage: usage, Finish: finish}) {
			if !yield(c, nil) {
				return
			}
		}
	}
}

// asked returns the question of a request, and the results that followed it.
func asked(req providers.Request) (question string, results []string) {
	for _, m := range req.Messages {
		switch m.Role {
		case schemas.RoleUser:
			if question == "" {
				question = m.FullText()
			}
		case schemas.RoleTool:
			for _, p := range m.Parts {
				results = append(results, p.Text)
			}
		}
	}
	return question, results
}

func call(name, arguments string) schemas.FunctionCall {
	return schemas.FunctionCall{Name: "office__" + name, Arguments: arguments}
}

// good is a model that does everything right.
func good(req providers.Request) said {
	question, results := asked(req)
	switch {
	case req.Pass == providers.PassGuardrail:
		return said{text: verdict(req.Messages[len(req.Messages)-1].FullText())}
	case req.Pass == providers.PassSummary:
		return said{text: "Mrs Quách Thị Lan ordered 48,750 bricks for Friday."}
	case req.ForbidCalls:
		return said{text: "In Hanoi it is 23.7 degrees."}
	case len(results) > 0:
		return afterResults(question, results)
	case len(req.Tools) > 0:
		return firstCall(question)
	}
	return said{text: plain(question), cached: cachedOf(question)}
}

func verdict(text string) string {
	for _, out := range []string{"17 times", "mặt trăng", "moon", "tiếng Nhật", "Japanese", "Ignore"} {
		if strings.Contains(text, out) {
			return `{"verdict":"NO","language":"en"}`
		}
	}
	return `{"verdict":"YES","language":"en"}`
}

func firstCall(question string) said {
	for _, c := range []struct {
		part  string
		calls []schemas.FunctionCall
	}{
		{"Hanoi and in Huế", []schemas.FunctionCall{call("get_weather", `{"city":"Hanoi"}`), call("get_weather", `{"city":"Huế"}`)}},
		{"Hanoi", []schemas.FunctionCall{call("get_weather", `{"city":"Hanoi"}`)}},
		{"Book the blue", []schemas.FunctionCall{call("book_room", `{"room":"blue","people":14,"projector":true,"contact":{"name":"Lan","phone":"0905 123 456"}}`)}},
		{"Show me the record", []schemas.FunctionCall{call("get_person", `{"id":"7f3c90d2-4e81-4b6a-9d25-c08e61b7a4f3","name":"Nguyễn Thị Phượng"}`)}},
		{"appointment number 4417", []schemas.FunctionCall{call("delete_appointment", `{"id":"4417"}`)}},
		{"Trần Văn Bảo", []schemas.FunctionCall{call("find_customer", `{"name":"Trần Văn Bảo"}`)}},
		{"order 90-114", []schemas.FunctionCall{call("get_order", `{"number":"90-114"}`)}},
		{"Zephyr", []schemas.FunctionCall{call("search_notes", `{"query":"Zephyr 9"}`)}},
	} {
		if strings.Contains(question, c.part) {
			return said{calls: c.calls}
		}
	}
	return said{text: "To whom, and what should it say?"}
}

func afterResults(question string, results []string) said {
	last := results[len(results)-1]
	switch {
	case strings.Contains(last, "customer_id"):
		return said{calls: []schemas.FunctionCall{call("get_balance", `{"customer_id":"C-58213"}`)}}
	case strings.Contains(last, "7316.45"):
		return said{text: "The balance is 7,316.45 EUR."}
	case strings.Contains(last, "busy"):
		return said{calls: []schemas.FunctionCall{call("get_order", `{"number":"90-114"}`)}}
	case strings.Contains(last, "hall 19"):
		return said{text: "It waits in hall 19."}
	case strings.Contains(question, "Zephyr"):
		return said{text: "Your notes say nothing about it."}
	}
	return said{text: "It has 23.7 degrees there."}
}

func plain(question string) string {
	for part, answer := range map[string]string{
		"as JSON":        `{"name":"Lan","age":34,"home":{"city":"Đà Nẵng"},"likes":["chess","tea"]}`,
		"Tại sao":        "Bầu trời có màu xanh vì không khí tán xạ ánh sáng xanh nhiều hơn ánh sáng đỏ.",
		"Why is the sky": "The sky is blue because the air scatters blue light more than red light.",
		"Warum":          "Der Himmel ist blau, weil die Luft das blaue Licht stärker streut als das rote.",
		"Which digit":    "7",
		"ball":           "0.05",
		"one to eighty":  strings.Repeat("seventy, ", 80),
		"archive?":       "83417",
	} {
		if strings.Contains(question, part) {
			return answer
		}
	}
	return "two"
}

func cachedOf(question string) int {
	if strings.Contains(question, "word two") {
		return 1900
	}
	return 0
}

func refusal(kind providers.Kind) *providers.Error {
	return &providers.Error{Kind: kind, Provider: "openai", Model: "big", Err: errors.New("refused")}
}

// textOf returns a call as a model prints it.
func textOf(f schemas.FunctionCall) string {
	return `<function=` + f.Name + `>` + string(json.RawMessage(f.Arguments))
}
