// Package traffic checks how Molar's adapters read recorded traffic: each recorded answer of a model
// service is given to the adapter of its API in several chunkings, and what the adapter makes of it is
// compared with a plain reading of the same bytes, which shares no code with the adapters. Nothing is
// sent anywhere.
package traffic

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"runtime/debug"
	"strings"

	"molar/eval/cassettes"
	"molar/eval/match"
	"molar/internal/text"
	"molar/providers"
	"molar/providers/chain"
	"molar/schemas"
)

// A Verdict is how an answer was read.
type Verdict string

// The verdicts.
const (
	// Exact: the same content in every chunking, and the next request brings its calls back.
	Exact Verdict = "exact"
	// Asked: the answer holds nothing to read, so that Molar asks again, as it should.
	Asked Verdict = "asked again"
	// Refused: the service reported an error, and so does Molar.
	Refused Verdict = "refused"
	// Differs: something is read or sent back otherwise.
	Differs Verdict = "differs"
	// Unreadable: the plain reading fails, so that there is nothing to compare with.
	Unreadable Verdict = "unreadable"
)

// An Answer is the result of one recorded answer.
type Answer struct {
	File string `json:"file"`
	// Index counts the exchanges of the file from 1.
	Index   int      `json:"index"`
	Service string   `json:"service"` // the host, or "" without a URL
	Wire    string   `json:"wire"`
	Model   string   `json:"model,omitempty"`
	Verdict Verdict  `json:"verdict"`
	Why     []string `json:"why,omitempty"`
	// Next is set if the next request was checked, and Recorded if its results are recorded ones.
	Next     bool `json:"next,omitempty"`
	Recorded bool `json:"recorded_results,omitempty"`
	// Known is why a difference is right, from the list of known ones.
	Known string `json:"known,omitempty"`
	// Fault is set for Refused.
	Fault *Fault `json:"fault,omitempty"`
}

// ID names an answer in lists of known differences.
func (a Answer) ID() string { return fmt.Sprintf("%s#%d", a.File, a.Index) }

// A Fault is a recorded failure and what Molar makes of it.
type Fault struct {
	Status int    `json:"status,omitempty"`
	Body   string `json:"body"` // shortened
	Kind   string `json:"kind"`
	// Then is what the turn does next.
	Then    string `json:"then"`
	Message string `json:"message"` // as a person reads it
}

// Check checks the exchanges of one file. It skips those that are not answers of a model.
func Check(ctx context.Context, file string, all []cassettes.Exchange) []Answer {
	var answers []Answer
	for i, e := range all {
		w, ok := wireOf(e)
		if !ok {
			continue
		}
		a := Answer{File: file, Index: i + 1, Service: host(e.URL), Wire: w.name}
		request, _ := decode(e.Request) // of a format that keeps only answers, nothing
		a.Model = model(w, e, dict(request))
		c := &check{w: w, exchange: e, request: dict(request), later: all[i+1:], answer: &a}
		c.safely(ctx)
		answers = append(answers, a)
	}
	return answers
}

func host(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Host
}

// model returns the model that was asked.
func model(w wire, e cassettes.Exchange, request object) string {
	if name := asText(request["model"]); name != "" {
		return name
	}
	if _, after, found := strings.Cut(e.URL, "/models/"); found && w.name == "gemini" {
		name, _, _ := strings.Cut(after, ":")
		return name
	}
	return "recorded"
}

// A check is the check of one exchange.
type check struct {
	w        wire
	exchange cassettes.Exchange
	request  object
	later    []cassettes.Exchange // of the same recording
	answer   *Answer
}

// safely runs the check; a panic of an adapter is a difference.
func (c *check) safely(ctx context.Context) {
	defer func() {
		if r := recover(); r != nil {
			c.differs(fmt.Sprintf("panic: %v at %s", r, text.Clip(string(debug.Stack()), 2000, "…")))
		}
	}()
	c.run(ctx)
}

func (c *check) differs(why ...string) {
	c.answer.Verdict = Differs
	c.answer.Why = append(c.answer.Why, why...)
}

func (c *check) run(ctx context.Context) {
	e := c.exchange
	if e.Status == 0 {
		e.Status = http.StatusOK
	}
	list, err := events(e.Response)
	var want Reading
	if err == nil && e.Status < http.StatusMultipleChoices {
		want, err = c.w.read(list)
	}
	refused := e.Status >= http.StatusMultipleChoices || err == nil && want.Error != ""
	switch {
	case refused:
		c.refused(ctx, e)
		return
	case err != nil:
		c.answer.Verdict, c.answer.Why = Unreadable, []string{err.Error()}
		return
	}
	c.answer.Verdict = Exact
	body := e.Response
	if len(list) == 1 && c.w.streamed != nil && contentType(body) == "application/json" {
		body = c.w.streamed(encoded(list[0]))
	}
	tools := c.tools(want)
	for _, cut := range chunkings() {
		c.read(ctx, cut, body, tools, want)
		if c.answer.Verdict == Differs && cut.name == "whole" {
			return // the others differ alike
		}
	}
}

// tools returns the tools that the request offered; without a request, those that are called.
func (c *check) tools(want Reading) []schemas.ToolInfo {
	tools := c.w.tools(c.request)
	if c.request != nil {
		return tools
	}
	for _, call := range want.Calls {
		tools = appendTool(tools, object{"name": call.Name})
	}
	return tools
}

// adapter returns a new adapter, which remembers nothing, and its service.
func (c *check) adapter(status int, header http.Header, body func() io.Reader) (providers.Provider, *service, error) {
	s := &service{status: status, header: header, body: body}
	p, err := c.w.open(base(c.exchange), s)
	return p, s, err
}

func (c *check) read(ctx context.Context, cut chunking, body string, tools []schemas.ToolInfo, want Reading) {
	p, s, err := c.adapter(http.StatusOK, http.Header{"Content-Type": {contentType(body)}}, func() io.Reader { return cut.cut(body) })
	if err != nil {
		c.differs("the adapter cannot be set up: " + err.Error())
		return
	}
	req := question(c.answer.Model, tools)
	got, said, err := ask(ctx, p, req)
	if e, ok := errors.AsType[*providers.Error](err); ok && e.Again != "" && want.isEmpty() {
		c.answer.Verdict, c.answer.Why = Asked, []string{e.Error()}
		return
	}
	if err != nil {
		c.differs(fmt.Sprintf("%s: error: %v", cut.name, err))
		return
	}
	if faults := compare(want, got); len(faults) > 0 {
		for _, fault := range faults {
			c.differs(cut.name + ": " + fault)
		}
		return
	}
	if len(want.Calls) == 0 || cut.name != "whole" {
		return
	}
	c.answer.Next = true
	history := c.history(want)
	c.answer.Recorded = history != nil
	if faults := c.w.next(ctx, p, s, req, said, want, history); len(faults) > 0 {
		c.differs(faults...)
	}
}

// isEmpty reports whether an answer holds nothing that a person could be shown, or ended for a reason
// that asks for another try.
func (r Reading) isEmpty() bool {
	switch r.Finish {
	case "stop", "length", "tool_calls", "content_filter":
		return strings.TrimSpace(r.Text) == "" && len(r.Calls) == 0
	}
	return true
}

// history returns the history of the recorded request that continues the answer, or nil.
func (c *check) history(want Reading) []item {
	for _, e := range c.later {
		if w, ok := wireOf(e); !ok || w.name != c.w.name {
			continue
		}
		request, err := decode(e.Request)
		if err != nil {
			continue
		}
		if past := c.w.past(dict(request)); follows(past, want) {
			return past
		}
	}
	return nil
}

// refused checks that a failure is an error, and notes what comes of it.
func (c *check) refused(ctx context.Context, e cassettes.Exchange) {
	header := http.Header{"Content-Type": {contentType(e.Response)}}
	for _, name := range []string{"Retry-After", "Retry-After-Ms", "X-Should-Retry"} {
		if v := e.Header.Get(name); v != "" {
			header.Set(name, v)
		}
	}
	c.answer.Verdict = Refused
	c.answer.Fault = &Fault{Status: e.Status, Body: clip(essence(e.Response))}
	for _, cut := range chunkings() {
		p, _, err := c.adapter(e.Status, header, func() io.Reader { return cut.cut(e.Response) })
		if err != nil {
			c.differs("the adapter cannot be set up: " + err.Error())
			return
		}
		got, _, err := ask(ctx, p, question(c.answer.Model, c.w.tools(c.request)))
		fault, ok := errors.AsType[*providers.Error](err)
		if !ok && len(got.Calls) > 0 && strings.Contains(e.Response, "failed_generation") {
			c.answer.Fault.Then = "takes the call that the refusal quotes"
			continue
		}
		if filtered := string(providers.FinishContentFilter); !ok && got.Finish == filtered && strings.Contains(e.Response, filtered) {
			c.answer.Fault.Then = "the answer is withheld"
			continue
		}
		if !ok {
			c.differs(fmt.Sprintf("%s: the service failed, Molar read %s", cut.name, clip(fmt.Sprintf("%+v", got))))
			return
		}
		c.answer.Fault.Kind, c.answer.Fault.Message = string(fault.Kind), fault.Error()
		c.answer.Fault.Then = chain.Next(fault, got.Text != "" || len(got.Calls) > 0)
	}
}

// essence returns the event of a body that holds the error, else the body.
func essence(body string) string {
	all, _ := events(body) // a body that cannot be read is shown as it is
	for _, event := range all {
		inner := dict(event["response"])
		if failure(event) != "" || failure(inner) != "" || event["type"] == "error" {
			return encoded(event)
		}
	}
	return body
}

// compare returns what differs between two readings.
func compare(want, got Reading) []string {
	var faults []string
	same := func(what, want, got string) {
		if want != got {
			faults = append(faults, what+": "+difference(want, got))
		}
	}
	switch {
	case strings.TrimSpace(want.Text+got.Text) == "": // blanks alone, before a call, are no text
	case want.parsed:
		same("text", want.Text, match.CanonicalJSON([]byte(got.Text)))
	default:
		same("text", want.Text, got.Text)
	}
	same("thinking", blanks(want.Thinking), blanks(got.Thinking))
	same("finish", want.Finish, got.Finish)
	same("usage", fmt.Sprintf("%+v", want.Usage), fmt.Sprintf("%+v", got.Usage))
	same("calls", calls(want), calls(got))
	return faults
}

// blanks makes runs of blanks one: how the parts of a reasoning are joined is nobody's content.
func blanks(s string) string { return strings.Join(strings.Fields(s), " ") }

func calls(r Reading) string {
	var b strings.Builder
	for _, c := range r.Calls {
		fmt.Fprintf(&b, "%s %s\n", c.Name, c.Args)
	}
	return b.String()
}

// difference shows two texts from shortly before the first difference.
func difference(want, got string) string {
	at := 0
	for at < len(want) && at < len(got) && want[at] == got[at] {
		at++
	}
	from := max(0, at-20)
	return fmt.Sprintf("want %q, got %q", clip(want[from:]), clip(got[min(from, len(got)):]))
}

func clip(s string) string { return text.Clip(cmp.Or(s, ""), 200, "…") }
