package responses

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"slices"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

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
	Usage     Usage            `json:"usage"`
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
	items, err := s.readInput(q)
	if err == nil {
		items, err = s.resolve(ctx, owner, items)
	}
	if err != nil {
		return item, err
	}
	previous, err := s.previous(ctx, owner, q)
	if err != nil {
		return item, err
	}
	all := s.newTalk(ctx, owner)
	if previous != nil {
		if err := s.remember(ctx, owner, q.chain, previous, all); err != nil {
			return item, err
		}
		all.System = previous.System
	}
	if err := all.Read(items, "input"); err != nil {
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

// sealedReasoning is what the encrypted_content of a reasoning item holds.
type sealedReasoning struct {
	Reasoning string `json:"reasoning"`
}

// encryptedReasoning is the value of include with which a request asks for sealed reasoning.
const encryptedReasoning = "reasoning.encrypted_content"

// reasoningSeal returns the func that seals reasoning for an owner; nil if the request does not ask
// for it.
func (s *Surface) reasoningSeal(ctx context.Context, owner string, q *Request) func(text string) (string, error) {
	if !slices.Contains(q.Include, encryptedReasoning) {
		return nil
	}
	sealer, err := s.sealer(ctx)
	if err != nil {
		return nil // logged
	}
	return func(text string) (string, error) { return sealer.Seal(owner, sealedReasoning{text}) }
}

// checkReasoning refuses sealed reasoning that is not this host's for this client. A model is not shown it.
func (t *talk) checkReasoning(it Item, at string) error {
	if it.EncryptedContent == "" {
		return nil
	}
	if err := t.unseal(it.EncryptedContent, &sealedReasoning{}); err != nil {
		e := wire.Invalid(at+".encrypted_content", "this reasoning was not made by this host for this client, or was changed: leave the item out")
		e.Code = "invalid_encrypted_content"
		return e
	}
	return nil
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

// processSecret returns a random secret that ends with the process.
func processSecret() func(context.Context) ([]byte, error) {
	key := make([]byte, keySize)
	_, _ = rand.Read(key) // never fails
	return func(context.Context) ([]byte, error) { return key, nil }
}
