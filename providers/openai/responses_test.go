package openai_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"molar/providers"
	"molar/providers/openai"
	"molar/schemas"
)

// event returns an event of the Responses API, framed.
func event(data string) string {
	var head struct{ Type string }
	_ = json.Unmarshal([]byte(data), &head)
	return "event: " + head.Type + "\ndata: " + data + "\n\n"
}

// The events of an answer. place is the item's place in the output.
func added(place int, item string) string {
	return event(fmt.Sprintf(`{"type":"response.output_item.added","output_index":%d,"item":%s}`, place, item))
}

func ended(place int, item string) string {
	return event(fmt.Sprintf(`{"type":"response.output_item.done","output_index":%d,"item":%s}`, place, item))
}

func delta(kind string, place int, text string) string {
	return event(fmt.Sprintf(`{"type":"response.%s.delta","item_id":"i%d","output_index":%d,"content_index":0,"summary_index":0,"delta":%q}`, kind, place, place, text))
}

func message(text, phase string) string {
	return fmt.Sprintf(`{"type":"message","id":"msg_1","status":"completed","role":"assistant","phase":%q,"content":[{"type":"output_text","text":%q,"annotations":[]}]}`, phase, text)
}

// speaks returns the events of a message.
func speaks(place int, phase string, pieces ...string) string {
	b := added(place, fmt.Sprintf(`{"type":"message","id":"msg_%d","status":"in_progress","role":"assistant","phase":%q,"content":[]}`, place, phase))
	for _, p := range pieces {
		b += delta("output_text", place, p)
	}
	return b + ended(place, message(strings.Join(pieces, ""), phase))
}

const (
	created = "event: response.created\ndata: {\"type\":\"response.created\",\"response\":{\"id\":\"resp_1\",\"status\":\"in_progress\",\"output\":[]}}\n\n"
	thought = `{"type":"reasoning","id":"rs_1","status":"completed","summary":[{"type":"summary_text","text":"I look."}],"content":[],"encrypted_content":"gAAA1"}`
	calling = `{"type":"function_call","id":"fc_1","call_id":"call_1","name":"w__get_weather","arguments":"{\"city\":\"Hue\"}","status":"completed"}`
	spent   = `{"input_tokens":30,"output_tokens":12,"total_tokens":42,"input_tokens_details":{"cached_tokens":20},"output_tokens_details":{"reasoning_tokens":8}}`
)

// completed returns the last event; output are the items in it.
func completed(output ...string) string {
	return event(`{"type":"response.completed","response":{"id":"resp_1","status":"completed","error":null,"incomplete_details":null,"output":[` + strings.Join(output, ",") + `],"usage":` + spent + `}}`)
}

// lines reads a line at a time.
type lines struct{ *bufio.Reader }

func (l lines) Read(p []byte) (int, error) {
	line, err := l.ReadSlice('\n')
	return copy(p, line), err
}

// chunkings are the ways in which a body arrives.
func chunkings(body string) map[string]func() io.Reader {
	return map[string]func() io.Reader{
		"whole":        func() io.Reader { return strings.NewReader(body) },
		"line by line": func() io.Reader { return lines{bufio.NewReaderSize(strings.NewReader(body), 1<<16)} },
		"byte by byte": func() io.Reader { return iotest.OneByteReader(strings.NewReader(body)) },
	}
}

// sends answers with a body as it comes from the reader, flushed at each piece.
func sends(body io.Reader) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		buf := make([]byte, 1<<16)
		for {
			n, err := body.Read(buf)
			_, _ = w.Write(buf[:n])
			_ = http.NewResponseController(w).Flush()
			if err != nil {
				return
			}
		}
	}
}

// overResponses returns a provider that asks the fake over Responses.
func overResponses(t testing.TB, f *fake) *openai.Provider {
	t.Helper()
	return newProvider(t, openai.Config{API: openai.APIResponses, BaseURL: f.url})
}

// hear is ask with the text as a person keeps it: without what was retracted.
func hear(ctx context.Context, p providers.Provider, req providers.Request) (a answer, kept string, parts []schemas.Part) {
	for chunk, err := range p.Stream(ctx, req) {
		if err != nil {
			a.err = err
			continue
		}
		if chunk.Retract {
			kept, parts = "", nil
		}
		kept += chunk.Text
		switch {
		case chunk.Call != nil:
			a.calls = append(a.calls, *chunk.Call)
			parts = append(parts, schemas.Part{Kind: schemas.PartCall, Call: chunk.Call, State: chunk.State})
		case chunk.State != nil:
			parts = append(parts, schemas.Part{Kind: schemas.PartText, Text: chunk.Text, State: chunk.State})
		case chunk.Text != "" && len(parts) > 0 && parts[len(parts)-1].Kind == schemas.PartText && parts[len(parts)-1].State == nil:
			parts[len(parts)-1].Text += chunk.Text
		case chunk.Text != "":
			parts = append(parts, schemas.Part{Kind: schemas.PartText, Text: chunk.Text})
		}
		a.thinking += chunk.Thinking
		if chunk.Note != "" {
			a.notes = append(a.notes, chunk.Note)
		}
		if chunk.Usage != nil {
			a.usage = *chunk.Usage
		}
		a.finish = chunk.Finish
	}
	return a, kept, parts
}

// Every form of an answer is read alike in any chunking.
func TestResponses_ReadsAnswers(t *testing.T) {
	t.Parallel()
	incomplete := func(reason string) string {
		return event(`{"type":"response.incomplete","response":{"status":"incomplete","incomplete_details":{"reason":"` + reason + `"},"output":[],"usage":` + spent + `}}`)
	}
	second := strings.NewReplacer("fc_1", "fc_2", "call_1", "call_2", "Hue", "Hanoi").Replace(calling)
	bare := `{"type":"function_call","id":"fc_1","call_id":"call_1","name":"w__get_weather","arguments":""}`
	asked := func(cities ...string) (all []schemas.FunctionCall) {
		for _, c := range cities {
			all = append(all, schemas.FunctionCall{Name: "w__get_weather", Arguments: `{"city":"` + c + `"}`})
		}
		return all
	}
	type want struct {
		text, thinking string
		calls          []schemas.FunctionCall
		finish         providers.FinishReason
	}
	for name, c := range map[string]struct {
		body string
		want want
	}{
		"text":                                {created + speaks(0, "", "Brush ", "twice.") + completed(), want{text: "Brush twice.", finish: providers.FinishStop}},
		"text only in the last event":         {created + completed(message("Brush twice.", "")), want{text: "Brush twice.", finish: providers.FinishStop}},
		"text only in the item":               {created + ended(0, message("Brush twice.", "")) + completed(message("Brush twice.", "")), want{text: "Brush twice.", finish: providers.FinishStop}},
		"the end of a text in the last event": {created + added(0, `{"type":"message","id":"msg_1"}`) + delta("output_text", 0, "Brush ") + completed(message("Brush twice.", "")), want{text: "Brush twice.", finish: providers.FinishStop}},
		"a text under another number": {
			created + added(0, `{"type":"message","id":"msg_1"}`) + strings.ReplaceAll(delta("output_text", 0, "Brush "), `"content_index":0`, `"content_index":1`) +
				ended(0, message("Brush twice.", "")) + completed(message("Brush twice.", "")), want{text: "Brush twice.", finish: providers.FinishStop},
		},
		"two texts, the second only in the item": {
			created + added(0, `{"type":"message","id":"msg_1"}`) + delta("output_text", 0, "Brush ") +
				ended(0, `{"type":"message","id":"msg_1","content":[{"type":"output_text","text":"Brush "},{"type":"output_text","text":"twice."}]}`) + completed(),
			want{text: "Brush twice.", finish: providers.FinishStop},
		},
		"a call in pieces": {created + added(0, bare) + delta("function_call_arguments", 0, `{"city"`) + delta("function_call_arguments", 0, `:"Hue"}`) +
			ended(0, calling) + completed(calling), want{calls: asked("Hue"), finish: providers.FinishToolCalls}},
		"arguments only in the event that ends them": {
			added(0, bare) + event(`{"type":"response.function_call_arguments.done","item_id":"fc_1","output_index":0,"arguments":"{\"city\":\"Hue\"}"}`) + completed(),
			want{calls: asked("Hue"), finish: providers.FinishToolCalls},
		},
		"a call only in the last event": {created + completed(calling), want{calls: asked("Hue"), finish: providers.FinishToolCalls}},
		"two calls, interleaved": {added(0, bare) + added(1, strings.NewReplacer("fc_1", "fc_2", "call_1", "call_2").Replace(bare)) +
			delta("function_call_arguments", 0, `{"city":`) + delta("function_call_arguments", 1, `{"city":"Ha`) + delta("function_call_arguments", 0, `"Hue"}`) +
			delta("function_call_arguments", 1, `noi"}`) + completed(calling, second), want{calls: asked("Hue", "Hanoi"), finish: providers.FinishToolCalls}},
		"ids that change": {added(0, bare) + ended(0, strings.ReplaceAll(calling, "fc_1", "fc_9")) + completed(strings.ReplaceAll(calling, "fc_1", "fc_8")), want{calls: asked("Hue"), finish: providers.FinishToolCalls}},
		"no places": {event(`{"type":"response.output_item.added","item":`+bare+`}`) + event(`{"type":"response.function_call_arguments.delta","item_id":"fc_1","delta":"{\"city\":\"Hue\"}"}`) +
			event(`{"type":"response.output_item.done","item":`+calling+`}`) + completed(calling), want{calls: asked("Hue"), finish: providers.FinishToolCalls}},
		"a summary of thoughts": {added(0, `{"type":"reasoning","id":"rs_1","summary":[]}`) + delta("reasoning_summary_text", 0, "I ") + delta("reasoning_summary_text", 0, "look.") + ended(0, thought) +
			speaks(1, "", "Hi.") + completed(thought, message("Hi.", "")), want{text: "Hi.", thinking: "I look.", finish: providers.FinishStop}},
		"two parts of a summary": {
			created + ended(0, `{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"One."},{"type":"summary_text","text":"Two."}]}`) + speaks(1, "", "Hi.") + completed(),
			want{text: "Hi.", thinking: "One.\n\nTwo.", finish: providers.FinishStop},
		},
		"thoughts of an open model": {
			created + delta("reasoning_text", 0, "I think.") + event(`{"type":"response.reasoning_text.done","output_index":0,"content_index":0,"text":"I think."}`) + speaks(1, "", "Hi.") + completed(),
			want{text: "Hi.", thinking: "I think.", finish: providers.FinishStop},
		},
		"a refusal": {
			added(0, `{"type":"message","id":"msg_1"}`) + delta("refusal", 0, "I will not.") + completed(`{"type":"message","id":"msg_1","content":[{"type":"refusal","refusal":"I will not."}]}`),
			want{text: "I will not.", finish: providers.FinishContentFilter},
		},
		"a refusal only in the last event": {completed(`{"type":"message","content":[{"type":"refusal","refusal":"I will not."}]}`), want{text: "I will not.", finish: providers.FinishContentFilter}},
		"cut":                              {speaks(0, "", "Brush ") + incomplete("max_output_tokens"), want{text: "Brush ", finish: providers.FinishLength}},
		"withheld":                         {speaks(0, "", "Brush ") + incomplete("content_filter"), want{text: "Brush ", finish: providers.FinishContentFilter}},
		"a cut call":                       {added(0, bare) + delta("function_call_arguments", 0, `{"city`) + incomplete("max_output_tokens"), want{finish: providers.FinishLength}},
		"unknown items and events": {created + event(`{"type":"response.new_thing","delta":7}`) + added(0, `{"type":"web_search_call","id":"ws_1"}`) + event(`{"type":"response.web_search_call.searching","output_index":0}`) +
			ended(0, `{"type":"web_search_call","id":"ws_1","action":{}}`) + speaks(1, "", "Hi.") + completed(), want{text: "Hi.", finish: providers.FinishStop}},
		"fields of another type": {
			created + speaks(0, "", "Hi.") + event(`{"type":"response.completed","response":{"created_at":1.5,"status":"completed","temperature":null,"tools":{},"output":[],"usage":`+spent+`}}`),
			want{text: "Hi.", finish: providers.FinishStop},
		},
		"not streamed":                  {`{"id":"resp_1","object":"response","status":"completed","error":null,"output":[` + thought + `,` + calling + `],"usage":` + spent + `}`, want{thinking: "I look.", calls: asked("Hue"), finish: providers.FinishToolCalls}},
		"commentary before a call":      {speaks(0, "commentary", "One moment.") + ended(1, calling) + completed(), want{text: "One moment.", calls: asked("Hue"), finish: providers.FinishToolCalls}},
		"commentary before the answer":  {speaks(0, "commentary", "Let me see.") + speaks(1, "commentary", "Almost.") + speaks(2, "final_answer", "Hi.") + completed(), want{text: "Hi.", finish: providers.FinishStop}},
		"commentary alone":              {speaks(0, "commentary", "Hi.") + completed(), want{text: "Hi.", finish: providers.FinishStop}},
		"commentary, a call, an answer": {speaks(0, "commentary", "See.") + ended(1, calling) + speaks(2, "final_answer", "Hi.") + completed(), want{text: "See.Hi.", calls: asked("Hue"), finish: providers.FinishToolCalls}},
	} {
		for how, open := range chunkings(c.body) {
			req := question("?")
			req.Tools = weather()
			a, kept, _ := hear(t.Context(), overResponses(t, newFake(t, sends(open()))), req)
			if a.err != nil {
				t.Errorf("%s, %s: %v", name, how, a.err)
				continue
			}
			if diff := cmp.Diff(c.want, want{kept, a.thinking, a.functions(), a.finish}, cmp.AllowUnexported(want{})); diff != "" {
				t.Errorf("%s, %s:\n%s", name, how, diff)
			}
			if u := (schemas.Usage{PromptTokens: 30, CompletionTokens: 12, TotalTokens: 42, CachedTokens: 20, ReasoningTokens: 8}); a.usage != u {
				t.Errorf("%s, %s: used %+v", name, how, a.usage)
			}
		}
	}
}

// An answer that fails, or has no end, is an error of the right kind, whatever came before.
func TestResponses_Faults(t *testing.T) {
	t.Parallel()
	failed := func(code, message string) string {
		return event(`{"type":"response.failed","response":{"status":"failed","error":{"code":"` + code + `","message":"` + message + `"},"output":[]}}`)
	}
	for name, c := range map[string]struct {
		body string
		kind providers.Kind
		text string
	}{
		"no end":                      {created + speaks(0, "", "Hi."), providers.KindIncomplete, "broke off"},
		"no end but the mark":         {created + speaks(0, "", "Hi.") + "data: [DONE]\n\n", providers.KindIncomplete, "broke off"},
		"nothing":                     {"", providers.KindIncomplete, "broke off"},
		"cut inside an event":         {created + speaks(0, "", "Hi.") + `data: {"type":"response.comp`, providers.KindIncomplete, "broke off"},
		"failed":                      {created + failed("server_error", "The model failed."), providers.KindUnavailable, "The model failed."},
		"failed at the limit":         {created + failed("rate_limit_exceeded", "Too many."), providers.KindQuota, "Too many."},
		"failed for length":           {created + failed("context_length_exceeded", "Your input exceeds the context window of this model."), providers.KindContextLength, "context window"},
		"failed for the prompt":       {created + failed("invalid_prompt", "Flagged."), providers.KindInvalid, "Flagged."},
		"cancelled":                   {event(`{"type":"response.cancelled","response":{"status":"cancelled","output":[]}}`), providers.KindUnavailable, "gave up (status cancelled)"},
		"an error event":              {event(`{"type":"error","code":"rate_limit_exceeded","message":"Too many.","param":null,"sequence_number":3}`), providers.KindQuota, "Too many."},
		"an error event, nested":      {event(`{"type":"error","error":{"type":"invalid_request_error","code":"model_not_found","message":"No such model.","param":null}}`), providers.KindModelNotFound, "No such model."},
		"an error without a type":     {"data: {\"error\":{\"message\":\"Overloaded.\",\"code\":503}}\n\n", providers.KindUnavailable, "Overloaded."},
		"an error with status 200":    {`{"error":{"message":"Overloaded.","type":"server_error","code":null}}`, providers.KindUnavailable, "Overloaded."},
		"failed, not streamed":        {`{"status":"failed","error":{"code":"server_error","message":"No."},"output":[]}`, providers.KindUnavailable, "No."},
		"a cut answer, not streamed":  {`{"status":"completed","output":[{"type":"mess`, providers.KindIncomplete, "broke off"},
		"another API":                 {`{"choices":[{"message":{"content":"Hi."}}]}`, providers.KindProtocol, "Responses API"},
		"a web page":                  {`<html></html>`, providers.KindProtocol, "web page"},
		"empty":                       {created + completed(), providers.KindProtocol, "empty"},
		"a nameless call":             {ended(0, `{"type":"function_call","call_id":"c","arguments":"{}"}`) + completed(), providers.KindProtocol, "without a name"},
		"the last event has no body":  {event(`{"type":"response.completed"}`), providers.KindProtocol, "holds no response"},
		"an event that is not JSON":   {"data: {oops}\n\n" + completed(), providers.KindProtocol, "cannot be read"},
		"a stream that fails on text": {speaks(0, "", "Hi.") + failed("server_error", "The model failed."), providers.KindUnavailable, "The model failed."},
	} {
		for how, open := range chunkings(c.body) {
			a := ask(t.Context(), overResponses(t, newFake(t, sends(open()))), question("?"))
			if providers.KindOf(a.err) != c.kind || !strings.Contains(fmt.Sprint(a.err), c.text) || a.afterEnd {
				t.Errorf("%s, %s: got %s: %v", name, how, providers.KindOf(a.err), a.err)
			}
		}
	}
}

// input returns the items of the input of a request, as JSON.
func input(t *testing.T, body map[string]any) []string {
	t.Helper()
	list, _ := body["input"].([]any)
	out := make([]string, len(list))
	for i, it := range list {
		data, err := json.Marshal(it)
		if err != nil {
			t.Fatal(err)
		}
		out[i] = string(data)
	}
	return out
}

// In the next rounds and turns the reasoning goes back as it came, in its place before commentary,
// calls and answer, with the phases of the messages; items have no other ids.
func TestResponses_SendsReasoningBack(t *testing.T) {
	t.Parallel()
	again := strings.NewReplacer("rs_1", "rs_2", "gAAA1", "gAAA2").Replace(thought)
	body := created + ended(0, thought) + speaks(1, "commentary", "One ", "moment.") + ended(2, again) + ended(3, calling) +
		ended(4, strings.NewReplacer("fc_1", "fc_2", "call_1", "call_2", "Hue", "Hanoi").Replace(calling)) + completed()
	final := strings.NewReplacer("rs_1", "rs_3", "gAAA1", "gAAA3").Replace(thought)
	for how, open := range chunkings(body) {
		f := newFake(t, sends(open()), sends(strings.NewReader(ended(0, final)+speaks(1, "final_answer", "Sunny.")+completed())))
		p := overResponses(t, f)
		req := question("Is it sunny?")
		req.System, req.Tools = "Be brief.", weather()
		a, _, parts := hear(t.Context(), p, req)
		if a.err != nil || len(a.calls) != 2 {
			t.Fatalf("%s: %+v", how, a)
		}
		result := func(n int, text string) schemas.Part {
			return schemas.Part{Kind: schemas.PartResult, Result: &schemas.ToolResult{ID: a.calls[n].ID, ToolName: "get_weather", Output: json.RawMessage(text)}}
		}
		req.Messages = append(req.Messages, schemas.Message{Role: schemas.RoleAssistant, Parts: parts}, schemas.Message{Role: schemas.RoleTool, Parts: []schemas.Part{result(0, `"sun"`), result(1, `"rain"`)}})
		_, _, said := hear(t.Context(), p, req)
		req.Messages = append(req.Messages, schemas.Message{Role: schemas.RoleAssistant, Parts: said}, schemas.Text(schemas.RoleUser, "And tomorrow?"))
		hear(t.Context(), p, req)
		req.Model = "another"
		hear(t.Context(), p, req)
		sent := f.requests()

		kept := func(id, sealed string) string {
			return `{"encrypted_content":"` + sealed + `","id":"` + id + `","summary":[{"text":"I look.","type":"summary_text"}],"type":"reasoning"}`
		}
		call := func(id, city string) string {
			return `{"arguments":"{\"city\":\"` + city + `\"}","call_id":"` + id + `","name":"w__get_weather","type":"function_call"}`
		}
		output := func(id, text string) string {
			return `{"call_id":"` + id + `","output":"` + text + `","type":"function_call_output"}`
		}
		asked := `{"content":"Is it sunny?","role":"user","type":"message"}`
		commentary := `{"content":"One moment.","phase":"commentary","role":"assistant","type":"message"}`
		second := []string{asked, kept("rs_1", "gAAA1"), commentary, kept("rs_2", "gAAA2"), call("call_1", "Hue"), call("call_2", "Hanoi"), output("call_1", "sun"), output("call_2", "rain")}
		if diff := cmp.Diff(second, input(t, sent[1])); diff != "" {
			t.Errorf("%s, the second round:\n%s", how, diff)
		}
		answered, more := `{"content":"Sunny.","phase":"final_answer","role":"assistant","type":"message"}`, `{"content":"And tomorrow?","role":"user","type":"message"}`
		if diff := cmp.Diff(append(append([]string{}, second...), kept("rs_3", "gAAA3"), answered, more), input(t, sent[2])); diff != "" {
			t.Errorf("%s, the next turn:\n%s", how, diff)
		}
		foreign := []string{asked, commentary, call("call_1", "Hue"), call("call_2", "Hanoi"), output("call_1", "sun"), output("call_2", "rain"), answered, more}
		if diff := cmp.Diff(foreign, input(t, sent[3])); diff != "" {
			t.Errorf("%s, another model:\n%s", how, diff)
		}
		if sent[1]["instructions"] != "Be brief." || sent[1]["store"] != false || sent[1]["background"] != nil || sent[1]["previous_response_id"] != nil {
			t.Errorf("%s: sent %v", how, sent[1])
		}
	}
}

// Reasoning that the service cannot read is left out of one retry.
func TestResponses_StaleReasoning(t *testing.T) {
	t.Parallel()
	refused := status(400, `{"error":{"message":"The encrypted content could not be verified.","type":"invalid_request_error","param":null,"code":"invalid_encrypted_content"}}`)
	f := newFake(t, sends(strings.NewReader(ended(0, thought)+speaks(1, "", "Hi.")+completed())), refused, sends(strings.NewReader(speaks(0, "", "Ho.")+completed())))
	p := overResponses(t, f)
	req := question("?")
	_, _, parts := hear(t.Context(), p, req)
	req.Messages = append(req.Messages, schemas.Message{Role: schemas.RoleAssistant, Parts: parts}, schemas.Text(schemas.RoleUser, "!"))
	a := askWithRetries(t.Context(), p, req)
	sent := f.requests()
	if a.text != "Ho." || len(sent) != 3 || len(input(t, sent[1])) != 4 || len(input(t, sent[2])) != 3 {
		t.Errorf("got %+v after %v", a, sent)
	}
}
