package responses

import (
	"context"
	"encoding/json"

	"github.com/gin-gonic/gin"

	"molar/agent"
	"molar/schemas"
	"molar/web/wire"
)

// InputTokens is an estimate of the tokens of a request.
type InputTokens struct {
	Object string `json:"object"`
	Tokens int    `json:"input_tokens"`
}

// A TokensRequest is the body of POST /v1/responses/input_tokens.
type TokensRequest struct {
	Model              string            `json:"model"`
	Input              json.RawMessage   `json:"input"`
	Instructions       string            `json:"instructions"`
	PreviousResponseID *string           `json:"previous_response_id"`
	Conversation       json.RawMessage   `json:"conversation"`
	Tools              []json.RawMessage `json:"tools"`
	Text               struct {
		Format *format `json:"format"`
	} `json:"text"`
}

// imageBytes stands for an image, whose tokens do not depend on its bytes: about 1,000 tokens.
const imageBytes = 1000 * agent.BytesPerToken

// CountTokens answers POST /v1/responses/input_tokens. It asks no model: it estimates from the size
// of what the client sends and refers to, without what the assistant adds, its own text and the
// servers' tools.
func (s *Surface) CountTokens(c *gin.Context) {
	var q TokensRequest
	err := wire.ReadBody(c.Request, &q)
	n := 0
	if err == nil {
		n, err = s.inputBytes(c.Request.Context(), s.Owner(c.Request), q)
	}
	if err != nil {
		writeError(c.Writer, err)
		return
	}
	wire.WriteJSON(c.Writer, InputTokens{Object: "response.input_tokens", Tokens: (n + agent.BytesPerToken - 1) / agent.BytesPerToken})
}

// inputBytes returns the size of what a request sends and refers to, as the model reads it.
func (s *Surface) inputBytes(ctx context.Context, owner string, q TokensRequest) (int, error) {
	request := &Request{Input: q.Input, PreviousResponseID: q.PreviousResponseID, Conversation: q.Conversation, Tools: q.Tools}
	all, err := s.wholeTalk(ctx, owner, request)
	if err != nil {
		return 0, err
	}
	tools, err := s.readTools(request)
	if err != nil {
		return 0, err
	}
	n := len(q.Instructions)
	for _, text := range all.System {
		n += len(text)
	}
	for _, m := range all.Messages {
		n += messageBytes(m)
	}
	for _, t := range tools.own {
		n += len(t.Name) + len(t.Description) + len(t.InputSchema)
	}
	if f := q.Text.Format; f != nil {
		n += len(f.Schema)
	}
	return n, nil
}

func messageBytes(m schemas.Message) int {
	n := 0
	for _, p := range m.Parts {
		switch {
		case p.Kind == schemas.PartImage:
			n += imageBytes
		case p.Call != nil:
			n += len(p.Call.Function.Name) + len(p.Call.Function.Arguments)
		default:
			n += len(p.Text)
		}
	}
	return n
}

// wholeTalk returns what the model would see of a request: the conversation or the chain that it
// continues, and its input.
func (s *Surface) wholeTalk(ctx context.Context, owner string, q *Request) (*talk, error) {
	items, err := s.readInput(q)
	if err == nil {
		items, err = s.resolve(ctx, owner, items)
	}
	if err != nil {
		return nil, err
	}
	previous, err := s.previous(ctx, owner, q)
	if err != nil {
		return nil, err
	}
	conversation, err := s.known(ctx, owner, q)
	if err != nil {
		return nil, err
	}
	all := s.newTalk(ctx, owner)
	switch {
	case previous != nil:
		if err := s.remember(ctx, owner, q.chain, previous, all); err != nil {
			return nil, err
		}
		all.System = previous.System
	case conversation != "":
		if err := s.addConversation(ctx, owner, conversation, all); err != nil {
			return nil, err
		}
	}
	if err := all.Read(items, "input"); err != nil {
		return nil, err
	}
	all.Settle()
	return all, nil
}
