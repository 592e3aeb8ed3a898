package offline_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"molar/providers"
	"molar/providers/offline"
	"molar/schemas"
)

func newProvider(t testing.TB) *offline.Provider {
	t.Helper()
	p, err := offline.New(offline.Config{})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// outcome is all that a stream gave.
type outcome struct {
	text   string
	calls  []schemas.ToolCall
	note   string
	finish providers.FinishReason
	usage  *schemas.Usage
	err    error
}

func run(t testing.TB, req providers.Request) outcome {
	t.Helper()
	var o outcome
	for c, err := range newProvider(t).Stream(t.Context(), req) {
		if err != nil {
			o.err = err
			break
		}
		o.text += c.Text
		o.note += c.Note
		if c.Call != nil {
			o.calls = append(o.calls, *c.Call)
		}
		if c.Usage != nil {
			o.usage = c.Usage
		}
		if c.Finish != "" {
			o.finish = c.Finish
		}
	}
	return o
}

func ask(text string, tools []schemas.ToolInfo) providers.Request {
	return providers.Request{Pass: providers.PassTool, Messages: []schemas.Message{schemas.Text(schemas.RoleUser, text)}, Tools: tools}
}

// fault says what is wrong with an outcome; "" when nothing is.
func fault(q question, o outcome) string {
	want, asks := strings.CutPrefix(q.tool, "?")
	switch {
	case o.err != nil:
		return o.err.Error()
	case q.tool == "" && len(o.calls) > 0:
		return fmt.Sprintf("called %s %s", o.calls[0].Function.Name, o.calls[0].Function.Arguments)
	case q.tool == "":
		return ""
	case asks && len(o.calls) > 0:
		return "called " + o.calls[0].Function.Name + " instead of asking"
	case asks:
		if !strings.Contains(o.text, want) {
			return "asked for another tool: " + o.text
		}
		for name := range q.args {
			if !strings.Contains(o.text, `"`+name+`"`) {
				return "did not ask for " + name + ": " + o.text
			}
		}
		return ""
	case len(o.calls) != 1:
		return fmt.Sprintf("%d calls: %s", len(o.calls), o.text)
	case o.calls[0].Function.Name != want:
		return "called " + o.calls[0].Function.Name
	}
	var got map[string]any
	if err := json.Unmarshal([]byte(o.calls[0].Function.Arguments), &got); err != nil {
		return err.Error()
	}
	for name, value := range q.args {
		if diff := cmp.Diff(value, got[name]); diff != "" {
			return fmt.Sprintf("argument %s is %v, not %v", name, got[name], value)
		}
	}
	return ""
}

// measure returns how many questions came out right, and logs the others.
func measure(t *testing.T, questions []question, tools []schemas.ToolInfo) int {
	t.Helper()
	right := 0
	for _, q := range questions {
		o := run(t, ask(q.text, tools))
		if f := fault(q, o); f != "" {
			t.Logf("%q wants %q: %s\n\t%s", q.text, q.tool, f, o.note)
			continue
		}
		right++
	}
	t.Logf("%d of %d right (%.1f %%)", right, len(questions), 100*float64(right)/float64(len(questions)))
	return right
}

func TestAccuracy_tuningSet(t *testing.T) {
	questions := tuningQuestions()
	if right := measure(t, questions, tuningTools()); right*100 < 90*len(questions) {
		t.Errorf("%d of %d right, want 90 %%", right, len(questions))
	}
}
