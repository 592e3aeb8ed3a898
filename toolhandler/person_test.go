package toolhandler_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"molar/schemas"
	"molar/toolhandler"
)

// patient is a person who thinks for a while, tries some answers and records the news.
type patient struct {
	thinks time.Duration
	tries  []string // contents of answers; the first valid one is given
	faults []string
	heard  []schemas.News
}

func (p *patient) Answer(ctx context.Context, q toolhandler.Question) (schemas.Answer, error) {
	select {
	case <-time.After(p.thinks):
	case <-ctx.Done():
		return schemas.Answer{}, ctx.Err()
	}
	for _, try := range p.tries {
		var content map[string]json.RawMessage
		if err := json.Unmarshal([]byte(try), &content); err != nil {
			return schemas.Answer{}, err
		}
		err := q.Check(content)
		if err == nil {
			return schemas.Answer{Action: schemas.ActionAccept, Content: content}, nil
		}
		p.faults = append(p.faults, err.Error())
	}
	return schemas.Answer{}, errors.New("no answer")
}

func (p *patient) OnNews(n schemas.News) { p.heard = append(p.heard, n) }

// personCaller is a server that can reach the person of a call.
type personCaller func(ctx context.Context, who *schemas.Person) (schemas.ToolResult, error)

func (f personCaller) CallFor(ctx context.Context, who *schemas.Person, _, _ string, _ json.RawMessage) (schemas.ToolResult, error) {
	return f(ctx, who)
}

// execute runs one call of a turn for a person; nil means no person.
func execute(t *testing.T, caller toolhandler.Caller, p toolhandler.Person) (toolhandler.Outcome, *toolhandler.Turn) {
	t.Helper()
	h, err := toolhandler.New(toolhandler.Config{Caller: caller})
	if err != nil {
		t.Fatal(err)
	}
	turn := h.Begin(toolhandler.TurnConfig{
		Tools:  []schemas.Tool{{ToolInfo: schemas.ToolInfo{Name: "bank__pay", Server: "bank", ToolName: "pay"}, Rules: schemas.ToolRules{Policy: schemas.PolicyAllow}}},
		Person: p,
	})
	for out := range turn.Execute(t.Context(), []schemas.ToolCall{{ID: "1", Function: schemas.FunctionCall{Name: "bank__pay", Arguments: "{}"}}}) {
		return out, turn
	}
	t.Fatal("no outcome")
	return toolhandler.Outcome{}, nil
}

// A person may think for longer than the timeouts of a call and of all calls of a turn; the
// answer must fit the form.
func TestTurn_APersonAnswersInTheMiddleOfACall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &patient{thinks: 9 * time.Minute, tries: []string{`{"amount":"many"}`, `{}`, `{"amount":3}`}}
		out, turn := execute(t, personCaller(func(ctx context.Context, who *schemas.Person) (schemas.ToolResult, error) {
			time.Sleep(50 * time.Second)
			a, err := who.Ask(ctx, schemas.Question{Server: "bank", Schema: json.RawMessage(
				`{"type":"object","properties":{"amount":{"type":"integer"},"note":{"type":"string","default":"none"}},"required":["amount","note"]}`)})
			if err != nil {
				return schemas.ToolResult{}, err
			}
			time.Sleep(9 * time.Second)
			return schemas.ToolResult{Output: a.Content["amount"]}, ctx.Err()
		}), p)
		if out.Status != toolhandler.StatusOK || string(out.Result.Output) != "3" || len(p.faults) != 2 {
			t.Errorf("%+v, %q", out, p.faults)
		}
		if out.Took != 59*time.Second || out.Waited != 9*time.Minute {
			t.Errorf("the call took %s and waited %s", out.Took, out.Waited)
		}
		if why := turn.Exhausted(); why != "" {
			t.Error(why)
		}
	})
}

func TestTurn_NobodyAnswersInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		out, _ := execute(t, personCaller(func(ctx context.Context, who *schemas.Person) (schemas.ToolResult, error) {
			_, err := who.Ask(ctx, schemas.Question{Server: "bank"})
			return schemas.ToolResult{Output: json.RawMessage(`"cancelled"`)}, func() error {
				if err == nil || time.Since(began) != toolhandler.ApprovalTimeout {
					t.Errorf("%v after %s", err, time.Since(began))
				}
				return nil
			}()
		}), &patient{thinks: time.Hour})
		if out.Status != toolhandler.StatusOK {
			t.Errorf("%+v", out)
		}
	})
}

// A server that reports progress may take longer, but no longer than all calls of the turn; lines
// of its log do not extend the time.
func TestTurn_ProgressExtendsACall(t *testing.T) {
	for _, tc := range []struct {
		name  string
		news  schemas.News
		takes time.Duration
		want  toolhandler.Status
		ends  time.Duration
	}{
		{"progress", schemas.News{Server: "bank", Tool: "pay", Progress: 1}, 100 * time.Second, toolhandler.StatusOK, 100 * time.Second},
		{"without end", schemas.News{Server: "bank", Tool: "pay", Progress: 1}, time.Hour, toolhandler.StatusTimeout, 2 * time.Minute},
		{"of another call", schemas.News{Server: "bank", Tool: "see", Progress: 1}, 100 * time.Second, toolhandler.StatusTimeout, time.Minute},
		{"a line of its log", schemas.News{Server: "bank", Level: "info", Text: "working"}, 100 * time.Second, toolhandler.StatusTimeout, time.Minute},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p, began := &patient{}, time.Now()
				out, _ := execute(t, personCaller(func(ctx context.Context, who *schemas.Person) (schemas.ToolResult, error) {
					for time.Since(began) < tc.takes {
						select {
						case <-time.After(10 * time.Second):
							who.OnNews(tc.news)
						case <-ctx.Done():
							return schemas.ToolResult{}, ctx.Err()
						}
					}
					return schemas.ToolResult{Output: json.RawMessage(`"done"`)}, nil
				}), p)
				if out.Status != tc.want || time.Since(began) != tc.ends {
					t.Errorf("%s after %s", out.Status, time.Since(began))
				}
				if diff := cmp.Diff(tc.news, p.heard[0]); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}

func TestTurn_NobodyToReach(t *testing.T) {
	out, _ := execute(t, personCaller(func(_ context.Context, who *schemas.Person) (schemas.ToolResult, error) {
		who.OnNews(schemas.News{Text: "hello"})
		if who.Ask != nil {
			t.Error("somebody can be asked")
		}
		return schemas.ToolResult{Output: json.RawMessage(`"done"`)}, nil
	}), nil)
	if out.Status != toolhandler.StatusOK {
		t.Errorf("%+v", out)
	}
}
