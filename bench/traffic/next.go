package traffic

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"molar/agent"
	"molar/eval/match"
	"molar/providers"
	"molar/schemas"
)

// madeUp is the result of a call for which no result is recorded.
const madeUp = `{"ok":true}`

// next sends the results of an answer's calls and returns what the request lacks or has wrong: each
// call with its id and signature, what is sealed, and each result under the id of its call. recorded
// is the history of the recorded next request; nil if there is none.
func (w wire) next(ctx context.Context, p providers.Provider, s *service, req providers.Request, said *agent.Reply, want Reading, recorded []item) []string {
	results := schemas.Message{Role: schemas.RoleTool}
	outputs := make([]string, len(want.Calls))
	for i, c := range said.Calls() {
		output := json.RawMessage(madeUp)
		if i < len(want.Calls) {
			if text, there := resultOf(recorded, want.Calls[i], i); there {
				output = asOutput(text)
			}
			outputs[i] = string(output)
		}
		results.Parts = append(results.Parts, schemas.Part{
			Kind: schemas.PartResult, Result: &schemas.ToolResult{ID: c.ID, Server: "recorded", ToolName: c.Function.Name, Output: output},
		})
	}
	req.Messages = append(slices.Clone(req.Messages), said.Message(), results)
	_, _, _ = ask(ctx, p, req) // only the request counts
	sent, err := decode(string(s.sent))
	if err != nil {
		return []string{"next request: " + err.Error()}
	}
	if thought := blanks(want.Thinking); holds(recorded, thought) {
		want.Sealed = append(slices.Clone(want.Sealed), thought) // the service wants the reasoning itself back
	}
	return compareNext(want, outputs, w.past(dict(sent)))
}

// holds reports whether a history holds something sealed.
func holds(history []item, sealed string) bool {
	return sealed != "" && slices.Contains(history, item{kind: itemSealed, text: sealed})
}

// compareNext compares the history that was sent with the answer and the results.
func compareNext(want Reading, outputs []string, sent []item) []string {
	var faults []string
	calls, results := ofKind(sent, itemCall), ofKind(sent, itemResult)
	if len(calls) != len(want.Calls) || len(results) != len(want.Calls) {
		return []string{fmt.Sprintf("next request: %d calls and %d results, want %d of each", len(calls), len(results), len(want.Calls))}
	}
	for i, c := range want.Calls {
		got, result := calls[i].call, results[i]
		fault := func(what, want, got string) {
			faults = append(faults, fmt.Sprintf("next request: call %d: %s: %s", i+1, what, difference(want, got)))
		}
		switch {
		case got.Name != c.Name:
			fault("name", c.Name, got.Name)
		case got.Args != c.Args:
			fault("arguments", c.Args, got.Args)
		case c.ID != "" && got.ID != c.ID:
			fault("id", c.ID, got.ID)
		case c.Signature != "" && got.Signature != c.Signature:
			fault("signature", c.Signature, got.Signature)
		case result.call.ID != got.ID:
			fault("id of its result", got.ID, result.call.ID)
		case !strings.Contains(match.CanonicalJSON([]byte(result.text)), content(outputs[i])):
			fault("result", content(outputs[i]), result.text)
		}
	}
	for _, s := range want.Sealed {
		if s != "" && !holds(sent, s) {
			faults = append(faults, "next request: what the service sealed is missing: "+clip(s))
		}
	}
	return faults
}

// content returns an output as it stands in a request: a text as itself, other JSON as JSON.
func content(output string) string {
	var s string
	if json.Unmarshal([]byte(output), &s) == nil {
		return s
	}
	return match.CanonicalJSON([]byte(output))
}

func ofKind(all []item, kind itemKind) []item {
	return slices.DeleteFunc(slices.Clone(all), func(i item) bool { return i.kind != kind })
}

// resultOf returns the recorded result of the i-th call of an answer, by its id, or without ids by its
// name and place behind the last calls.
func resultOf(recorded []item, c Call, i int) (string, bool) {
	for _, r := range ofKind(recorded, itemResult) {
		if c.ID != "" && r.call.ID == c.ID {
			return r.text, true
		}
	}
	if c.ID != "" {
		return "", false
	}
	last := len(recorded)
	for last > 0 && recorded[last-1].kind == itemResult {
		last--
	}
	if trailing := recorded[last:]; i < len(trailing) && (trailing[i].call.Name == c.Name || trailing[i].call.Name == "") {
		return trailing[i].text, true
	}
	return "", false
}

func asOutput(text string) json.RawMessage {
	if json.Valid([]byte(text)) && strings.TrimSpace(text) != "" {
		return json.RawMessage(text)
	}
	data, _ := json.Marshal(text) // a string always encodes
	return data
}

// follows reports whether a history continues an answer: it holds its calls.
func follows(history []item, answer Reading) bool {
	calls := ofKind(history, itemCall)
	for _, c := range answer.Calls {
		if !slices.ContainsFunc(calls, func(i item) bool {
			return i.call.ID == c.ID && i.call.Name == c.Name && (c.ID != "" || i.call.Args == c.Args)
		}) {
			return false
		}
	}
	return true
}
