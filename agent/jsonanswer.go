package agent

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"molar/agent/prompts"
	"molar/providers"
	"molar/schemas"
	"molar/toolhandler"
)

// A client's schema goes to the model's service in each request that can hold it. The answer is
// checked here, whatever the service promises: it is shown when it matches, and else asked for again.

// compileSchema compiles the schema of a turn; nil for an answer in prose.
func compileSchema(t *Turn) (*toolhandler.Schema, error) {
	if !t.wantsJSON() {
		return nil, nil
	}
	schema, err := toolhandler.NewSchema(t.Schema)
	if err != nil {
		return nil, fmt.Errorf("%w: the schema of the answer cannot be used: %w", ErrInvalid, err)
	}
	return schema, nil
}

// describesAnswer reports whether the turn has a schema of the client's own, whose texts a model reads.
func (t *Turn) describesAnswer() bool {
	return t.wantsJSON() && !bytes.Equal(t.Schema, providers.AnyObject())
}

// schemaBesideTools reports whether the model takes the schema and tools in one request. Such a service
// also shows the schema to the model.
func (w *task) schemaBesideTools() bool {
	return providers.SchemaBesideTools(w.route.Provider, w.route.Model, w.turn.Schema)
}

// schemaInWords returns the schema if the prompt has to name it.
func (w *task) schemaInWords() json.RawMessage {
	if !w.turn.describesAnswer() || w.schemaBesideTools() {
		return nil
	}
	return w.turn.Schema
}

// addSchema adds the schema to a request that can hold it, and what was wrong with the answer before.
// A request that has to end in the answer goes without tools, if the service does not take both.
func (w *task) addSchema(req *providers.Request, ask step) {
	if req.ForbidCalls && !ask.beside {
		req.Tools, req.ForbidCalls = nil, false
	}
	if ask.beside || len(req.Tools) == 0 {
		req.Schema = w.turn.Schema
	}
	req.Messages = slices.Concat(req.Messages, ask.again)
}

// holds reports whether the text of a request is held until it is whole: it may have to be replaced,
// or precede a call.
func (w *task) holds(req *providers.Request) bool {
	if w.schema == nil {
		return false
	}
	final := len(req.Schema) > 0 && (len(req.Tools) == 0 || req.ForbidCalls)
	return !final || w.turn.GoesOn || !providers.EnforcesSchema(w.route.Provider, req.Model, req.Schema)
}

// showJSON shows the answer of a round, if it matches the schema. Else more is set, and the next round
// asks for it again, without calls; after a second mismatch in requests with the schema it returns
// [ErrSchema]. An answer that was cut or withheld is not checked: its finish reason tells the client.
func (a *Agent) showJSON(w *task, reply *Reply, req *providers.Request, ask *step) (more bool, err error) {
	said := reply.Message().Said()
	switch cut := reply.Finish == providers.FinishLength || reply.Finish == providers.FinishContentFilter; {
	case w.out.Spoke(): // it was not held
		if err := w.out.Settle(); err != nil || cut {
			return false, err
		}
		return false, mismatch(w.check(w.out.Answer()))
	case cut:
		return false, w.out.Model(said)
	case strings.TrimSpace(said) == "": // the end of the rounds reports it
		return false, nil
	}
	text := unfence(said)
	fault := w.check(text)
	if fault == nil {
		fault, err = w.out.JSON(text, w.check)
	}
	switch {
	case err != nil:
		return false, err
	case fault == nil:
		reply.SetText(text)
		return false, nil
	case len(req.Schema) > 0 && ask.mismatched:
		return false, mismatch(fault)
	}
	ask.mismatched = len(req.Schema) > 0
	w.out.Mark("8", "The answer does not match the client's schema: asked again", "with_schema", ask.mismatched, "fault", fault)
	ask.again = []schemas.Message{reply.Spoken(), prompts.Mismatch(w.out.Lang(), fault)}
	return true, nil
}

// check returns what is wrong with an answer.
func (w *task) check(text string) error { return w.schema.Check([]byte(text)) }

func mismatch(fault error) error {
	if fault == nil {
		return nil
	}
	return fmt.Errorf("%w: %w; simplify the schema, or use a larger model", ErrSchema, fault)
}

// unfence returns a text without white space around it, and without the fence of a block of code that
// is all of it.
func unfence(text string) string {
	text = strings.TrimSpace(text)
	inner, opened := strings.CutPrefix(text, "```")
	inner, closed := strings.CutSuffix(inner, "```")
	label, inner, lines := strings.Cut(inner, "\n")
	if !opened || !closed || !lines || label != "" && !strings.EqualFold(strings.TrimSpace(label), "json") {
		return text
	}
	return strings.TrimSpace(inner)
}

// noJSONOffline returns an error if the client wants JSON and there is no model to write it.
func (w *task) noJSONOffline() error {
	if w.schema == nil || !w.route.Offline {
		return nil
	}
	return &providers.Error{
		Kind: providers.KindUnavailable, Provider: w.route.Provider.Name(),
		Err: fmt.Errorf("only a model can answer in JSON: %s", providers.HowToGetOne("set", "or", "run")),
	}
}
