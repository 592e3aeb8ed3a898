package responses

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"molar/agent"
	"molar/schemas"
	"molar/schemas/responses"
	"molar/web/wire"
)

// A talk is a list of items, converted to messages in the canonical form.
type talk struct {
	// unseal decrypts a text that the host sealed for this client.
	unseal   func(text string, v any) error
	System   []string
	Messages []schemas.Message
	// Files are the text files of the last message of role user.
	Files []agent.Attachment
	// Media is approximately how many bytes of the body are files.
	Media int
	// Answered is set if there are items other than system, developer and user messages.
	Answered bool
	// Results are the results of the client's own tools in the last items.
	Results []schemas.ToolResult
	// states are the provider's private state of the client's calls, by their ids.
	states map[string]*schemas.ProviderState
	// Open holds the calls whose results have not come yet.
	Open []schemas.ToolCall
}

// newTalk returns an empty talk. unseal decrypts a text that the host sealed for this client.
func newTalk(unseal func(text string, v any) error) *talk { return &talk{unseal: unseal} }

// Read adds items. at is their path in errors.
func (t *talk) Read(items []responses.Item, at string) error {
	for i, it := range items {
		if err := t.add(it, fmt.Sprintf("%s[%d]", at, i)); err != nil {
			return err
		}
	}
	return nil
}

func (t *talk) add(it responses.Item, at string) error {
	if it.Type != "function_call_output" {
		t.Results = nil
	}
	switch it.Type {
	case "message":
		if len(t.Open) > 0 {
			return unanswered(t.Open[0].ID)
		}
		return t.addMessage(it, at)
	case "function_call":
		name := joinName(it.Namespace, it.Name)
		call := schemas.ToolCall{ID: it.CallID, Function: schemas.FunctionCall{Name: name, Arguments: it.Arguments}}
		t.say(schemas.Part{Kind: schemas.PartCall, Call: &call, State: t.states[it.CallID]})
		t.Open = append(t.Open, schemas.ToolCall{ID: it.CallID, Function: schemas.FunctionCall{Name: name}})
		if it.CallID == "" || it.Name == "" {
			return wire.Invalid(at, "a function_call needs a call_id and a name")
		}
	case "function_call_output":
		return t.addOutput(it, at)
	case "mcp_call":
		t.addServerCall(it)
	case "compaction":
		if len(t.Open) > 0 {
			return unanswered(t.Open[0].ID)
		}
		return t.addCompaction(it, at)
	case "reasoning":
		return t.addState(it, at)
	case "file_search_call", "web_search_call", "mcp_list_tools", "mcp_approval_request", "mcp_approval_response", "molar:question", answerType: // the model does not need these
	default:
		return wire.Unsupported(at+".type", fmt.Sprintf("an item of type %q cannot be read here", wire.Clip(it.Type, 40)))
	}
	return nil
}

// addState takes the provider's state of the calls that follow, which the client has kept.
func (t *talk) addState(it responses.Item, at string) error {
	if it.EncryptedContent == "" {
		return nil
	}
	var state InputState
	if err := t.unseal(it.EncryptedContent, &state); err != nil {
		e := wire.Invalid(at+".encrypted_content", "this reasoning was not sealed by this host for this client, or was changed: leave its encrypted_content out")
		e.Code = "invalid_encrypted_content"
		return e
	}
	if t.states == nil {
		t.states = map[string]*schemas.ProviderState{}
	}
	maps.Copy(t.states, state.Calls)
	return nil
}

// unanswered is the error for a call without its result.
func unanswered(callID string) *wire.Error {
	return wire.Invalid("input", "no tool output found for function call %s", wire.Clip(callID, 80))
}

func (t *talk) addMessage(it responses.Item, at string) error {
	parts, files, err := readContent(it, at+".content")
	if err != nil {
		return err
	}
	t.Media += wire.FileBytes(parts, files)
	switch it.Role {
	case "system", "developer":
		if text := (schemas.Message{Parts: parts}).Said(); text != "" {
			t.System = append(t.System, text)
		}
	case "assistant":
		t.say(parts...)
	case "user":
		t.ask(parts, files)
	default:
		return wire.Invalid(at+".role", "role %q is not known; use system, developer, user or assistant", wire.Clip(it.Role, 40))
	}
	return nil
}

// Settle adds the text files of the last message of role user to its parts, because more messages
// follow it.
func (t *talk) Settle() {
	wire.Settle(t.Messages, t.Files)
	t.Files = nil
}

// apart returns parts with a blank line before the first text if there is text in the parts before.
func apart(before, parts []schemas.Part) []schemas.Part {
	if len(parts) == 0 || parts[0].Kind != schemas.PartText || !slices.ContainsFunc(before, func(p schemas.Part) bool { return p.Kind == schemas.PartText }) {
		return parts
	}
	parts = slices.Clone(parts)
	parts[0].Text = "\n\n" + parts[0].Text
	return parts
}

// say adds parts to the assistant's message.
func (t *talk) say(parts ...schemas.Part) {
	t.Answered = true
	if end := len(t.Messages) - 1; end >= 0 && t.Messages[end].Role == schemas.RoleAssistant {
		t.Messages[end].Parts = append(t.Messages[end].Parts, parts...)
		return
	}
	t.Messages = append(t.Messages, schemas.Message{Role: schemas.RoleAssistant, Parts: parts})
}

// addText adds a message with a text, its origin, and the names of its attached files. An answer stays
// apart from the text before it, as the host remembers what each has read.
func (t *talk) addText(role schemas.Role, text string, origin schemas.Origin, files ...string) {
	parts := textParts(text)
	switch {
	case len(parts) == 0:
	case role == schemas.RoleUser:
		parts[0].Origin = origin
		t.ask(parts, nil)
	case role == schemas.RoleAssistant:
		t.Answered = true
		t.Messages = append(t.Messages, schemas.Message{Role: role, Parts: parts})
	default:
		t.System = append(t.System, text)
	}
	for _, name := range files {
		t.Files = append(t.Files, agent.Attachment{Name: name})
	}
}

// ask adds parts to the message of a person. files are its text files.
func (t *talk) ask(parts []schemas.Part, files []agent.Attachment) {
	t.Settle()
	t.Files = files
	if end := len(t.Messages) - 1; end >= 0 && t.Messages[end].Role == schemas.RoleUser {
		t.Messages[end].Parts = append(t.Messages[end].Parts, apart(t.Messages[end].Parts, parts)...)
		return
	}
	t.Messages = append(t.Messages, schemas.Message{Role: schemas.RoleUser, Parts: parts})
}

// AddStored adds the messages of a conversation. What a question holds beside typed words stands with
// its answer.
func (t *talk) AddStored(messages []schemas.StoredMessage) {
	for i, m := range messages {
		var files []string
		for _, f := range m.Files {
			files = append(files, f.Name)
		}
		var origin schemas.Origin
		if m.Role == schemas.RoleUser && i+1 < len(messages) {
			origin = questionOrigin(messages[i+1])
		}
		t.addText(m.Role, m.Content, origin, files...)
	}
}

// questionOrigin returns the origin of the text of a question from its stored answer.
func questionOrigin(answer schemas.StoredMessage) schemas.Origin {
	var from []schemas.Origin
	for _, round := range answer.Rounds() {
		from = append(from, slices.DeleteFunc(slices.Clone(round.Question), schemas.Origin.IsFile)...)
	}
	return leastTyped(from)
}

// addOutput pairs a result with its call.
func (t *talk) addOutput(it responses.Item, at string) error {
	i := slices.IndexFunc(t.Open, func(c schemas.ToolCall) bool { return c.ID == it.CallID })
	if i < 0 {
		return wire.Invalid(at+".call_id", "call_id %q answers no function call of what came before", wire.Clip(it.CallID, 80))
	}
	text, media, err := readResult(it.Output, at+".output")
	if err != nil {
		return err
	}
	t.Media += wire.FileBytes(media, nil)
	result := schemas.ToolResult{ToolName: t.Open[i].Function.Name, ID: it.CallID, Output: wire.AsJSON(text), Media: media}
	t.Open = slices.Delete(t.Open, i, i+1)
	t.Results = append(t.Results, result)
	t.give(schemas.Part{Kind: schemas.PartResult, Text: text, Result: &result})
	return nil
}

func (t *talk) give(part schemas.Part) {
	t.Answered = true
	if end := len(t.Messages) - 1; t.Messages[end].Role == schemas.RoleTool {
		t.Messages[end].Parts = append(t.Messages[end].Parts, part)
		return
	}
	t.Messages = append(t.Messages, schemas.Message{Role: schemas.RoleTool, Parts: []schemas.Part{part}})
}

// addServerCall adds a server's call of an earlier response.
func (t *talk) addServerCall(it responses.Item) {
	name := it.ServerLabel + "__" + it.Name
	t.say(schemas.Part{Kind: schemas.PartCall, Call: &schemas.ToolCall{ID: it.ID, Function: schemas.FunctionCall{Name: name, Arguments: it.Arguments}}})
	var text string
	var failed mcpError
	switch {
	case !wire.IsSet(it.Error):
		_ = json.Unmarshal(it.Output, &text) // empty if it is not text
	case json.Unmarshal(it.Error, &failed) == nil && len(failed.Content) == 1:
		text = failed.Content[0].Text
	default:
		text = string(it.Error)
	}
	result := schemas.ToolResult{ToolName: it.Name, Server: it.ServerLabel, ID: it.ID, Output: wire.AsJSON(text), IsError: wire.IsSet(it.Error)}
	t.give(schemas.Part{Kind: schemas.PartResult, Text: text, Result: &result})
}
