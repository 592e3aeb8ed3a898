package responses

import (
	"context"
	"crypto/rand"
	"encoding/json"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"molar/internal/sealed"
	"molar/schemas/responses"
	"molar/web/wire"
)

// A CompactRequest is the body of POST /v1/responses/compact: the items to compact, given as
// input, as the chain that ends with a response, or both. Instructions are not included.
type CompactRequest struct {
	Model              string          `json:"model"`
	Input              json.RawMessage `json:"input"`
	PreviousResponseID *string         `json:"previous_response_id"`
}

// A Compaction is the answer: a conversation in one item that only this host can read.
type Compaction struct {
	ID        string           `json:"id"`
	Object    string           `json:"object"`
	Output    []compactionItem `json:"output"`
	CreatedAt int64            `json:"created_at"`
	Usage     responses.Usage  `json:"usage"`
}

type compactionItem struct {
	Type             string `json:"type"`
	ID               string `json:"id"`
	EncryptedContent string `json:"encrypted_content"`
}

// Compact answers POST /v1/responses/compact. It calls no model: it keeps people's messages, the
// newest answer and the beginnings of older answers, each up to a limit.
func (s *Surface) Compact(c *gin.Context) {
	var q CompactRequest
	err := wire.ReadBody(c.Request, &q)
	if err == nil && q.Model == "" {
		err = wire.Invalid("model", "model is required: name the assistant")
	}
	var item compactionItem
	if err == nil {
		item, err = s.compact(c.Request.Context(), s.Owner(c.Request), &Request{Input: q.Input, PreviousResponseID: q.PreviousResponseID})
	}
	if err != nil {
		writeError(c.Writer, err)
		return
	}
	wire.WriteJSON(c.Writer, Compaction{
		ID: idPrefix + uuid.NewString(), Object: "response.compaction",
		Output: []compactionItem{item}, CreatedAt: s.Turns.Now().Unix(),
	})
}

func (s *Surface) compact(ctx context.Context, owner string, q *Request) (compactionItem, error) {
	item := compactionItem{Type: "compaction", ID: "cmp_" + uuid.NewString()}
	all, err := s.wholeTalk(ctx, owner, q)
	if err != nil {
		return item, err
	}
	if len(all.Open) > 0 {
		return item, unanswered(all.Open[0].ID)
	}
	if len(all.Messages) == 0 {
		return item, wire.Invalid("input", "there is nothing to compact: send input, or previous_response_id")
	}
	sealer, err := s.sealer(ctx)
	if err == nil {
		item.EncryptedContent, err = sealer.Seal(owner, all.Compacted())
	}
	return item, err
}

// newTalk returns an empty talk that can read compactions of the owner.
func (s *Surface) newTalk(ctx context.Context, owner string) *talk {
	return newTalk(func(text string, v any) error {
		sealer, err := s.sealer(ctx)
		if err != nil {
			return err
		}
		return sealer.Open(owner, text, v)
	})
}

// sealer returns the sealer, made from the host's secret on first use.
func (s *Surface) sealer(ctx context.Context) (*Sealer, error) {
	s.sealing.Lock()
	defer s.sealing.Unlock()
	if s.seal != nil {
		return s.seal, nil
	}
	secret, err := s.Secret(ctx)
	if err == nil {
		s.seal, err = newSealer(secret)
	}
	if err != nil {
		s.Turns.Logger.Error("read the secret that seals compactions", "error", err)
		return nil, wire.ErrStore
	}
	return s.seal, nil
}

// sealsFor returns a func that seals what an owner's client keeps for the model. It needs the sealer
// to be there.
func (s *Surface) sealsFor(owner string) func(InputState) string {
	return func(state InputState) string {
		s.sealing.Lock()
		sealer := s.seal
		s.sealing.Unlock()
		if sealer == nil { // its secret could not be read
			return ""
		}
		text, err := sealer.Seal(owner, state)
		if err != nil {
			s.Turns.Logger.Error("seal the state of a model", "error", err)
		}
		return text
	}
}

// processSecret returns a random secret that ends with the process.
func processSecret() func(context.Context) ([]byte, error) {
	key := make([]byte, sealed.KeySize)
	_, _ = rand.Read(key) // never fails
	return func(context.Context) ([]byte, error) { return key, nil }
}
