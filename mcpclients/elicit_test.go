package mcpclients_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"molar/mcpclients"
	"molar/mcpclients/transport"
	"molar/schemas"
)

// booking returns the form that the servers of these tests request.
func booking() mcp.ElicitationParams {
	return mcp.ElicitationParams{
		Mode: mcp.ElicitationModeForm, Message: "When should the dentist see you?",
		RequestedSchema: map[string]any{"type": "object", "properties": map[string]any{
			"day":  map[string]any{"type": "string", "default": "Monday"},
			"hour": map[string]any{"type": "integer", "default": 9},
			"note": map[string]any{"type": "string"},
		}},
	}
}

// askingServer returns a server that asks during a call.
func askingServer() http.Handler {
	s := server.NewMCPServer("asking", "1", server.WithToolCapabilities(true), server.WithElicitation())
	s.AddTool(mcp.NewTool("book"), func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		got, err := s.RequestElicitation(ctx, mcp.ElicitationRequest{Params: booking()})
		if err != nil {
			return mcp.NewToolResultError(err.Error()), nil
		}
		content, err := json.Marshal(got.Content)
		return mcp.NewToolResultText(fmt.Sprintf("%s %s", got.Action, content)), err
	})
	return withHandshake(s)
}

// answering attaches one server, with elicit as the person who answers.
func answering(t *testing.T, cfg transport.ServerConfig, elicit mcpclients.Elicitor) *mcpclients.Manager {
	t.Helper()
	all := servers(cfg)
	all.Elicit = elicit
	m := start(t, all)
	if st := status(t, m); st.State != schemas.StateReady {
		t.Fatalf("%+v", st)
	}
	return m
}

func accept(fields map[string]json.RawMessage) mcpclients.Elicitor {
	return func(context.Context, schemas.Question) (schemas.Answer, error) {
		return schemas.Answer{Action: schemas.ActionAccept, Content: fields}, nil
	}
}

func TestManager_AnswersAServersQuestion(t *testing.T) {
	web := serveHTTP(t, askingServer())
	for _, tc := range []struct {
		name   string
		elicit mcpclients.Elicitor
		want   string
	}{
		{"defaults stand for what is left out", accept(map[string]json.RawMessage{"hour": json.RawMessage(`14`)}), `accept {\"day\":\"Monday\",\"hour\":14}`},
		{"declined", func(context.Context, schemas.Question) (schemas.Answer, error) {
			return schemas.Answer{Action: schemas.ActionDecline, Content: map[string]json.RawMessage{"day": nil}}, nil
		}, `decline null`},
		{"nobody there", func(context.Context, schemas.Question) (schemas.Answer, error) {
			return schemas.Answer{}, errors.New("no terminal")
		}, `cancel null`},
		{"not configured", nil, "does not serve this method"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m := answering(t, overHTTP(web.URL), tc.elicit)
			result, err := m.Call(t.Context(), "web", "book", nil)
			if err != nil || !strings.Contains(string(result.Output), tc.want) {
				t.Errorf("%s, %v; want %s", result.Output, err, tc.want)
			}
		})
	}
	t.Run("the question names its server", func(t *testing.T) {
		var asked atomic.Pointer[schemas.Question]
		m := answering(t, overHTTP(web.URL), func(_ context.Context, q schemas.Question) (schemas.Answer, error) {
			asked.Store(&q)
			return schemas.Answer{}, nil
		})
		if _, err := m.Call(t.Context(), "web", "book", nil); err != nil {
			t.Fatal(err)
		}
		q := asked.Load()
		if q == nil || q.Server != "web" || q.Message != booking().Message || !strings.Contains(string(q.Schema), `"hour"`) {
			t.Errorf("%+v", q)
		}
	})
}

// statelessServer returns a server that answers a call with a question, and expects the call
// again.
func statelessServer(calls *atomic.Int32) http.Handler {
	s := server.NewMCPServer("stateless", "1", server.WithToolCapabilities(true), server.WithElicitation())
	ask := func() (*mcp.CallToolResult, error) {
		return server.NewInputRequestBuilder("opaque <state>").Elicit("when", booking()).ToolResult(), nil
	}
	s.AddTool(mcp.NewTool("book"), func(_ context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		calls.Add(1)
		if len(r.Params.InputResponses) == 0 {
			return ask()
		}
		raw, err := json.Marshal(r.Params.InputResponses)
		return mcp.NewToolResultText(fmt.Sprintf("%s for %s as %s", raw, r.GetString("who", "?"), r.Params.RequestState)), err
	})
	s.AddTool(mcp.NewTool("insatiable"), func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		calls.Add(1)
		return ask()
	})
	return server.NewStreamableHTTPServer(s, server.WithStateLess(true),
		server.WithStreamableHTTPProtocolVersions(transport.ProtocolStateless))
}

func TestManager_SendsACallAgainWithAnswers(t *testing.T) {
	var calls atomic.Int32
	web := serveHTTP(t, statelessServer(&calls))
	cfg := overHTTP(web.URL)
	cfg.Protocol = transport.ProtocolStateless
	m := answering(t, cfg, accept(nil))

	t.Run("with the state as it came", func(t *testing.T) {
		calls.Store(0)
		result, err := m.Call(t.Context(), "web", "book", json.RawMessage(`{"who":"Lan"}`))
		text := string(result.Output)
		if err != nil || result.IsError || calls.Load() != 2 {
			t.Fatalf("%s, %v after %d calls", text, err, calls.Load())
		}
		for _, want := range []string{`Monday`, `accept`, `for Lan`, `opaque`} {
			if !strings.Contains(text, want) {
				t.Errorf("%s lacks %q", text, want)
			}
		}
	})
	t.Run("but not for ever", func(t *testing.T) {
		calls.Store(0)
		result, err := m.Call(t.Context(), "web", "insatiable", nil)
		if err != nil || !result.IsError || !strings.Contains(string(result.Output), "more input") || calls.Load() > 20 {
			t.Errorf("%s, %v after %d calls", result.Output, err, calls.Load())
		}
	})
	t.Run("nor without a person", func(t *testing.T) {
		result, err := answering(t, cfg, nil).Call(t.Context(), "web", "book", nil)
		if err != nil || !result.IsError {
			t.Errorf("%s, %v", result.Output, err)
		}
	})
}

func TestManager_CloseEndsAQuestion(t *testing.T) {
	web := serveHTTP(t, askingServer())
	closeWhileAsking(t, overHTTP(web.URL), "book")
}

// closeWhileAsking closes the manager while the person has not answered the tool's question yet.
func closeWhileAsking(t *testing.T, cfg transport.ServerConfig, tool string) {
	t.Helper()
	asked := make(chan struct{}, 1)
	m := answering(t, cfg, func(ctx context.Context, _ schemas.Question) (schemas.Answer, error) {
		asked <- struct{}{}
		<-ctx.Done()
		return schemas.Answer{}, ctx.Err()
	})
	ended := make(chan error, 1)
	go func() {
		_, err := m.Call(t.Context(), cfg.Name, tool, nil)
		ended <- err
	}()
	<-asked
	began := time.Now()
	if err := m.Close(); err != nil {
		t.Error(err)
	}
	if err := <-ended; err == nil {
		t.Error("the call was answered")
	}
	if took := time.Since(began); took > 8*time.Second { // a process has 5 s to exit
		t.Errorf("closing took %s", took)
	}
}

// gatheringServer returns a variant of the asking server whose calls wait until all have come.
func gatheringServer(calls int) http.Handler {
	var come, answered sync.WaitGroup
	come.Add(calls)
	answered.Add(calls)
	s := server.NewMCPServer("gathering", "1", server.WithToolCapabilities(true), server.WithElicitation())
	s.AddTool(mcp.NewTool("book"), func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		come.Done()
		come.Wait()
		got, err := s.RequestElicitation(ctx, mcp.ElicitationRequest{Params: booking()})
		answered.Done()
		answered.Wait()
		if err != nil {
			return mcp.NewToolResultError(err.Error()), nil
		}
		content, err := json.Marshal(got.Content)
		return mcp.NewToolResultText(fmt.Sprintf("%s %s", got.Action, content)), err
	})
	return withHandshake(s)
}

// A question during a call goes to the person of the call, and to nobody while calls of several
// people are running.
func TestManager_AsksThePersonOfTheCall(t *testing.T) {
	person := func(day string) *schemas.Person {
		return &schemas.Person{Ask: accept(map[string]json.RawMessage{"day": json.RawMessage(`"` + day + `"`)})}
	}
	lan, minh := person("Tuesday"), person("Friday")
	for _, tc := range []struct {
		name string
		who  []*schemas.Person
		want string
	}{
		{"one call", []*schemas.Person{lan}, `accept {\"day\":\"Tuesday\",\"hour\":9}`},
		{"two calls of one person", []*schemas.Person{minh, minh}, `accept {\"day\":\"Friday\",\"hour\":9}`},
		{"of nobody in particular", []*schemas.Person{nil}, `decline null`},
		{"calls of two", []*schemas.Person{lan, minh}, `cancel null`},
		{"calls of one and of nobody", []*schemas.Person{lan, nil}, `cancel null`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			web := serveHTTP(t, gatheringServer(len(tc.who)))
			m := answering(t, overHTTP(web.URL), func(context.Context, schemas.Question) (schemas.Answer, error) {
				return schemas.Answer{Action: schemas.ActionDecline}, nil
			})
			var calls sync.WaitGroup
			for _, who := range tc.who {
				calls.Go(func() {
					result, err := m.CallFor(t.Context(), who, "web", "book", nil)
					if err != nil || !strings.Contains(string(result.Output), tc.want) {
						t.Errorf("%s, %v; want %s", result.Output, err, tc.want)
					}
				})
			}
			calls.Wait()
		})
	}
}

// While the person thinks, the timeout of the call is paused.
func TestManager_AQuestionTakesNoTimeOfTheCall(t *testing.T) {
	t.Parallel()
	web := serveHTTP(t, askingServer())
	cfg := overHTTP(web.URL)
	cfg.Timeout = 300 * time.Millisecond
	m := answering(t, cfg, func(ctx context.Context, _ schemas.Question) (schemas.Answer, error) {
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
		}
		return schemas.Answer{Action: schemas.ActionDecline}, nil
	})
	if result, err := m.Call(t.Context(), "web", "book", nil); err != nil || !strings.Contains(string(result.Output), "decline") {
		t.Errorf("%s, %v", result.Output, err)
	}
}

// A server may ask a person to open an address, which must be one for a browser.
func TestManager_AsksToOpenAnAddress(t *testing.T) {
	for _, tc := range []struct{ address, want string }{
		{"https://bank.example/confirm?id=1", `accept null`},
		{"javascript:alert(1)", "http and https addresses only"},
		{"https://you@bank.example/", "http and https addresses only"},
	} {
		s := server.NewMCPServer("asking", "1", server.WithToolCapabilities(true), server.WithElicitation())
		s.AddTool(mcp.NewTool("pay"), func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			got, err := s.RequestElicitation(ctx, mcp.ElicitationRequest{Params: mcp.ElicitationParams{
				Mode: mcp.ElicitationModeURL, Message: "Confirm the payment", URL: tc.address, ElicitationID: "1",
			}})
			if err != nil {
				return mcp.NewToolResultError(err.Error()), nil
			}
			content, err := json.Marshal(got.Content)
			return mcp.NewToolResultText(fmt.Sprintf("%s %s", got.Action, content)), err
		})
		web := serveHTTP(t, withHandshake(s))
		seen := ""
		m := answering(t, overHTTP(web.URL), func(_ context.Context, q schemas.Question) (schemas.Answer, error) {
			seen = q.URL
			return schemas.Answer{Action: schemas.ActionAccept}, nil
		})
		result, err := m.Call(t.Context(), "web", "pay", nil)
		if err != nil || !strings.Contains(string(result.Output), tc.want) || (seen == tc.address) != strings.HasPrefix(tc.want, "accept") {
			t.Errorf("%s: %s, %v, shown %q", tc.address, result.Output, err, seen)
		}
	}
}
