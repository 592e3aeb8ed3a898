package ollama_test

import (
	"testing"
)

// A model whose template tells no thinking writes its thoughts into the answer.
func TestStream_ThinkingAloud(t *testing.T) {
	t.Parallel()
	f := newFake(t, lines(say("<think>My instructions "), say("say.</thi"), say("nk>\n\nHello "), say("there."), end))
	p := at(t, f)
	got := ask(t.Context(), p, question("Hello"))
	if got.text != "Hello there." || got.thinking != "My instructions say." {
		t.Errorf("thinking %q, text %q, %v", got.thinking, got.text, got.err)
	}
}

// A call that follows thoughts is still one.
func TestStream_ACallPrintedAfterThinkingAloud(t *testing.T) {
	t.Parallel()
	f := newFake(t, lines(say("<think>The weather.</think>"), say("\n<tool_call>"), say(`{"name":"w__get_weather","arguments":{"city":"Huế"}}</tool_call>`), end))
	req := question("Weather?")
	req.Tools = weather()
	got := ask(t.Context(), at(t, f), req)
	if len(got.calls) != 1 || got.text != "" || got.thinking != "The weather." {
		t.Errorf("%+v", got)
	}
}
