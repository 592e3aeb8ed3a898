package serve

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"molar/internal/host"
	"molar/internal/httpguard"
	"molar/internal/telemetry"
	"molar/mcpclients"
	"molar/mcpclients/transport"
	"molar/providers"
	"molar/providers/chain"
	"molar/schemas"
	"molar/toolhandler"
	"molar/web"
)

// operations returns what an operator may do with a running host.
func (p *port) operations() web.Operations {
	return web.Operations{
		SwitchTool: func(ctx context.Context, name string, on bool) error {
			return webError(p.MCP.Switch(ctx, name, on))
		},
		CallTool: p.callByHand,
		ApproveServer: func(ctx context.Context, server, digest string) ([]string, error) {
			approved, err := p.MCP.Approve(ctx, server, digest)
			return approved, webError(err)
		},
		Propose: func(server schemas.ServerStatus) *schemas.Proposal { return p.Propose(server) },
		ConfirmServer: func(ctx context.Context, confirmed schemas.Proposal) error {
			return webError(p.MCP.Confirm(ctx, confirmed))
		},
		TestProvider:  p.testProvider,
		Providers:     p.providers,
		ServiceOf:     p.Config.LLM.ServiceOf,
		Settings:      p.settings,
		ImportServers: p.importServers,
		AddServer:     p.addServer,
		RemoveServer:  p.removeServer,
		AddedServers:  func() []string { return p.Added(p.Config) },
		Lint:          p.lint,
		Refusals:      p.refusals,
		ForgetRefusals: func(ctx context.Context, name string) error {
			_, err := p.Refusals.Forget(ctx, name)
			return err
		},
		Classify: func(tool schemas.Tool) (class, why string) {
			c, why := toolhandler.Classify(tool)
			return string(c), why
		},
	}
}

// lint returns what providers refuse of a tool, and how text can leave through it.
func (p *port) lint(tool schemas.Tool) web.Lint {
	found, _ := toolhandler.Tools([]schemas.Tool{tool}, providers.Lowerings(), p.RefusedBy, false)
	l := web.Lint{Arguments: toolhandler.Arguments(tool), Notes: toolhandler.Remarks(tool, p.MCP.Catalogue().Tools())}
	for _, f := range found {
		if f.Refused != "" {
			l.Notes = append(l.Notes, f.Provider+" is not offered it: "+f.Refused)
		}
		for _, n := range f.Notes {
			l.Notes = append(l.Notes, f.Provider+": "+n)
		}
	}
	return l
}

// refusals returns the providers' refusals of a tool.
func (p *port) refusals(tool schemas.Tool) []schemas.Refusal {
	var all []schemas.Refusal
	for _, provider := range p.Config.LLM.EndpointNames() {
		if r, refused := p.Refusals.Refused(provider, tool.ToolInfo); refused {
			all = append(all, r)
		}
	}
	return all
}

// settings returns the settings that the host was started with.
func (p *port) settings() web.Settings {
	return web.Settings{File: p.files.last().File, Settings: p.Config.Settings()}
}

// hints returns what the pages can show about this host.
func (p *port) hints() web.Hints {
	return web.Hints{
		File: func() web.ConfigFile {
			now := p.files.read()
			return web.ConfigFile{Path: p.configFile(), Faults: now.faults, NeedsRestart: now.restart, Offer: p.offer()}
		},
		Prompts:  p.Agent.PromptsOf,
		Provider: p.answers,
	}
}

// answers returns which model would answer a question.
func (p *port) answers(ctx context.Context, q web.Selection) (name, model, why string, err error) {
	if as, ok := p.Config.Assistants.Get(cmp.Or(q.Assistant, p.Config.Default)); ok && q.Provider == "" && q.Model == "" {
		q.Provider, q.Model = as.Provider, as.Model
	}
	route, err := p.Chain.Pick(ctx, chain.Want{Provider: q.Provider, Model: q.Model})
	if err != nil {
		return "", "", "", err
	}
	return route.Provider.Name(), route.Model, route.Why, nil
}

// offer names the assistant that may call the attached servers, if the default one may not.
func (p *port) offer() string {
	return p.Config.SuggestedDefault(p.files.last(), len(p.AddedNames()) > 0)
}

// providers returns all providers: whether each can answer now, and with which models.
func (p *port) providers(ctx context.Context) []web.Provider {
	names := p.Config.LLM.Choices()
	all := make([]web.Provider, len(names))
	var asking sync.WaitGroup
	for i, name := range names {
		e, _ := p.Config.LLM.Endpoint(name)
		all[i] = web.Provider{Name: name, API: e.Service.Name, Setting: e.Setting, KeySetting: e.KeySetting(), Missing: p.Config.LLM.MissingKey(name), HasKey: p.Config.LLM.Key(name) != ""}
		if all[i].Missing != "" {
			continue
		}
		asking.Go(func() {
			route, err := p.Chain.Pick(ctx, chain.Want{Provider: name})
			all[i].Model, all[i].SmallModel, all[i].Err = route.Model, route.SmallModel, err
			if err == nil {
				all[i].Models, _ = p.Chain.Models(ctx, name) // without the list, its own models can be chosen
			}
		})
	}
	asking.Wait()
	return all
}

// webError converts the client manager's refusals to errors of web.
func webError(err error) error {
	for _, unknown := range []error{transport.ErrUnknownServer, mcpclients.ErrUnknownTool} {
		if errors.Is(err, unknown) {
			return fmt.Errorf("%w: %w", web.ErrUnknown, err)
		}
	}
	for _, conflict := range []error{mcpclients.ErrNotPinned, mcpclients.ErrChanged, transport.ErrUnavailable} {
		if errors.Is(err, conflict) {
			return fmt.Errorf("%w: %w", web.ErrConflict, err)
		}
	}
	return err
}

// byHand is the approver of a person's own call: the call is the approval.
type byHand struct{}

func (byHand) Approve(context.Context, toolhandler.Approval) (toolhandler.Decision, error) {
	return toolhandler.Decision{Allowed: true}, nil
}

// callByHand runs one call through the same checks as a model's.
func (p *port) callByHand(ctx context.Context, name string, arguments json.RawMessage) (web.ToolOutcome, error) {
	tool, ok := p.MCP.Catalogue().Lookup(name)
	if !ok {
		return web.ToolOutcome{}, fmt.Errorf("%w: there is no tool %q", web.ErrUnknown, name)
	}
	handler, err := toolhandler.New(toolhandler.Config{Caller: host.Caller{Caller: p.MCP, Telemetry: p.Telemetry}, Logger: p.Log})
	if err != nil {
		return web.ToolOutcome{}, err
	}
	turn := handler.Begin(toolhandler.TurnConfig{Tools: []schemas.Tool{tool}, Approver: byHand{}, ApprovesOwn: func(approvers []string) bool {
		who := httpguard.PrincipalOf(ctx)
		return who.Key == "" || who.Rights.ApprovesOwn(approvers)
	}})
	call := schemas.ToolCall{ID: uuid.NewString(), Function: schemas.FunctionCall{Name: tool.Name, Arguments: string(arguments)}}
	for out := range turn.Execute(ctx, []schemas.ToolCall{call}) {
		counted := telemetry.Call{
			ID: call.ID, At: time.Now(), Server: tool.Server, Tool: tool.ToolName, Status: string(out.Status),
			DurationMS: float64(out.Took.Microseconds()) / 1000,
		}
		if out.Status != toolhandler.StatusOK {
			counted.Error = out.Result.OutputText()
		}
		p.Telemetry.CountCall(counted)
		p.Log.Info("a tool was called by hand", "tool", tool.Name, "status", out.Status)
		return web.ToolOutcome{Status: string(out.Status), Result: out.Result, Took: out.Took}, nil
	}
	return web.ToolOutcome{}, ctx.Err()
}

// testProvider makes one small call of the named provider, without a fallback to another.
func (p *port) testProvider(ctx context.Context, name, model string) (web.ProviderTest, error) {
	known := p.Config.LLM.Choices()
	if !slices.Contains(known, name) {
		return web.ProviderTest{}, fmt.Errorf("%w: there is no provider %q; choose one of %s", web.ErrUnknown, name, strings.Join(known, ", "))
	}
	test := web.ProviderTest{Provider: name, Model: model}
	began := time.Now()
	route, err := host.Models{Models: host.Routes{Chain: p.Chain}, Telemetry: p.Telemetry}.Pick(ctx, name, model, "")
	if err != nil {
		test.Err, test.Took = err, time.Since(began)
		return test, nil
	}
	test.Model = route.Model
	const answerTokens = 16
	req := providers.Request{
		Pass: providers.PassAnswer, Model: route.Model, Language: "en", MaxTokens: answerTokens, Temperature: new(0.0),
		Messages: []schemas.Message{schemas.Text(schemas.RoleUser, "Answer with the single word: ok")},
	}
	for chunk, err := range route.Provider.Stream(ctx, req) {
		if err != nil {
			test.Err = err
			break
		}
		if test.First == 0 && (chunk.Text != "" || chunk.Thinking != "") {
			test.First = time.Since(began)
		}
		test.Text += chunk.Text
	}
	test.Took = time.Since(began)
	if list, err := p.Chain.Models(ctx, name); err == nil {
		test.Models = list
	}
	return test, nil
}
