package web_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"molar/schemas"
	"molar/web"
)

// poisonedConfig returns a config of a host whose texts are all payloads.
func poisonedConfig(t *testing.T, all []string) web.Config {
	t.Helper()
	cfg := operated(t, echoing())
	store := &poisonedStore{fakeStore: &fakeStore{}, all: all}
	cfg.Conversations, cfg.Tools, cfg.Servers, cfg.Traces = store, store, store, store
	cfg.Knowledge = poisonedKnowledge(all)
	cfg.Operations.CallTool = func(_ context.Context, _ string, args json.RawMessage) (web.ToolOutcome, error) {
		return web.ToolOutcome{Status: "ok", Result: schemas.ToolResult{Output: args}}, nil
	}
	cfg.Operations.TestProvider = func(_ context.Context, name, _ string) (web.ProviderTest, error) {
		return web.ProviderTest{Provider: name, Model: all[20], Models: all, Err: fmt.Errorf("%s", strings.Join(all, " "))}, nil
	}
	cfg.Operations.Settings = func() web.Settings {
		s := web.Settings{File: all[1]}
		for _, p := range all {
			s.Settings = append(s.Settings, schemas.Setting{Key: p, Value: p, Origin: p})
		}
		return s
	}
	return cfg
}

// poisonedKnowledge returns folders and a document whose names, titles, headings and texts are payloads.
func poisonedKnowledge(all []string) *someKnowledge {
	d := schemas.Document{Folder: all[0], File: all[1], Title: all[2], Link: all[3]}
	k := &someKnowledge{}
	for i, x := range all {
		d.Parts = append(d.Parts, schemas.DocumentPart{Title: x, Text: x, Place: []schemas.Place{
			{File: x, Heading: x, Anchor: x}, {File: x, Sheet: x, Line: 1}, {File: x, Heading: "here", Anchor: "here"},
		}[i%3]})
		k.status = append(k.status, schemas.KnowledgeStatus{
			Name: x, Description: x, Path: x, Files: 1, Done: 1, Unread: []schemas.UnreadFile{{File: x, Why: x}}, UnreadFiles: 1,
			Meaning: &schemas.MeaningStatus{Provider: x, Model: x, Problem: x},
		})
	}
	k.docs = map[string]schemas.Document{"handbook/x": d}
	return k
}

type poisonedStore struct {
	*fakeStore
	all []string
}

func (p *poisonedStore) List(context.Context, string, string, int, string) ([]schemas.Conversation, string, error) {
	var list []schemas.Conversation
	for i, x := range p.all {
		list = append(list, schemas.Conversation{ID: fmt.Sprintf("x%d", i), Title: x, Messages: 2, CreatedAt: created, UpdatedAt: created})
	}
	return list, "", nil
}

func (p *poisonedStore) Messages(_ context.Context, _, _ string) ([]schemas.StoredMessage, string, bool, error) {
	var list []schemas.StoredMessage
	for _, x := range p.all {
		output, _ := json.Marshal(x)
		bad := schemas.ToolCall{ID: "k", Function: schemas.FunctionCall{Name: x, Arguments: x}}
		rounds, _ := json.Marshal([]schemas.Round{{
			Said:    schemas.Message{Role: schemas.RoleAssistant, Parts: []schemas.Part{{Kind: "call", Call: &bad}}},
			Results: []schemas.ToolResult{{ToolName: x, ID: "k", Output: output}},
		}})
		list = append(list,
			schemas.StoredMessage{Role: schemas.RoleUser, Content: x, Timestamp: created, TurnID: x},
			schemas.StoredMessage{Role: schemas.RoleAssistant, Content: x, Timestamp: created, TurnID: x, Calls: rounds, Sources: []schemas.Source{{Title: x, URL: x, Place: &schemas.Place{Folder: x, File: x, Sheet: x, Line: 1}}}})
	}
	for i := range list {
		list[i].Seq, list[i].Parent = int64(i+1), int64(i)
	}
	return list, "", true, nil
}

func (p *poisonedStore) Tree(ctx context.Context, owner, id string) ([]schemas.StoredMessage, error) {
	list, _, _, err := p.Messages(ctx, owner, id)
	return list, err
}

func (p *poisonedStore) Tools() []schemas.Tool {
	var list []schemas.Tool
	for i, x := range p.all {
		x = strings.ReplaceAll(x, "\x00", "") // strict JSON does not allow it in a key
		schema, _ := json.Marshal(map[string]any{"type": "object", "description": x, "properties": map[string]any{
			x: map[string]any{"type": "string", "description": x, "default": x}, "kind": map[string]any{"enum": []string{x}, "default": x},
		}})
		list = append(list, schemas.Tool{ToolInfo: schemas.ToolInfo{Name: fmt.Sprintf("s__t%d", i), Server: x, ToolName: x, Description: x, InputSchema: schema}})
	}
	return list
}

func (p *poisonedStore) Status() []schemas.ServerStatus {
	var list []schemas.ServerStatus
	for _, x := range p.all {
		list = append(list, schemas.ServerStatus{Name: x, State: schemas.StateFailed, Reason: x, Transport: x, Version: x, Protocol: x, Pending: []string{x}, Skipped: []string{x}, Stderr: []string{x}, Since: created})
	}
	return list
}

func (p *poisonedStore) Trace(context.Context, string, string) (json.RawMessage, bool, error) {
	type object = map[string]any
	var tools, passes []any
	for _, x := range p.all {
		call := object{"id": x, "at": created, "server": x, "tool": x, "arguments": x, "status": x, "output": x, "took_ms": 1}
		tools = append(tools, object{"name": x, "reason": x, "offered": true, "calls": []any{call}}, object{"name": x, "reason": x})
		passes = append(passes, object{"pass": x, "model": x, "prompt": x, "output": x, "thinking": x, "note": x, "error": x, "finish_reason": x, "usage": object{}, "tools_offered": 1})
	}
	joined := strings.Join(p.all, "\n")
	trace, err := json.Marshal(object{
		"turn_id": joined, "conversation_id": joined, "assistant": joined, "route": joined, "started": created, "status": "done", "question": joined, "answer": joined,
		"memory": joined, "verdict": object{"by": joined, "reason": joined}, "tools": tools, "passes": passes,
		"steps": []any{object{"step": joined, "took_ms": 1}}, "done": object{"warnings": p.all, "usage": object{}, "sources": []any{object{"title": joined, "url": joined, "place": object{"folder": joined, "file": joined, "heading": joined}}}},
	})
	return trace, true, err
}
