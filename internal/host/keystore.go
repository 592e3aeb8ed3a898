package host

import (
	"context"
	"encoding/json"

	"molar/agent"
	"molar/internal/store/state"
	"molar/web/responses"
	"molar/web/turns"
)

// pauses keeps turns that wait for a client's own tools in the host's database.
type pauses struct{ *state.Store }

var _ agent.Pauses = pauses{}

func (p pauses) Keep(ctx context.Context, k agent.Pause) error {
	return p.KeepTurn(ctx, state.KeptTurn(k))
}

func (p pauses) Kept(ctx context.Context, owner, callID string) (json.RawMessage, bool, error) {
	return p.GetKeptTurn(ctx, owner, callID)
}

func (p pauses) Take(ctx context.Context, owner, id string) (json.RawMessage, bool, error) {
	return p.TakeKeptTurn(ctx, owner, id)
}

// KeyStore remembers Idempotency-Keys in the host's database.
type KeyStore struct{ *state.Store }

var _ turns.KeyStore = KeyStore{}

// Claim takes a key, or returns who has it.
func (s KeyStore) Claim(ctx context.Context, k turns.KeyRecord) (turns.KeyRecord, bool, error) {
	found, claimed, err := s.ClaimKey(ctx, storeKey(k))
	return turns.KeyRecord{
		Owner: found.Owner, Key: found.Key, Hash: found.Hash, TurnID: found.TurnID, ConversationID: found.ConversationID,
		Acted: found.State == state.KeyActed, Outcome: found.Outcome,
	}, claimed, err
}

// Set stores what became of the turn of a key.
func (s KeyStore) Set(ctx context.Context, k turns.KeyRecord) error {
	return s.SetKey(ctx, storeKey(k))
}

// Release gives up a key whose turn did nothing.
func (s KeyStore) Release(ctx context.Context, owner, key, turnID string) error {
	return s.ReleaseKey(ctx, owner, key, turnID)
}

// Take gives the key of a turn that is gone to another.
func (s KeyStore) Take(ctx context.Context, k turns.KeyRecord, before string) (bool, error) {
	return s.TakeKey(ctx, storeKey(k), before)
}

func storeKey(k turns.KeyRecord) state.Key {
	reached := state.KeyOpen
	switch {
	case len(k.Outcome) > 0:
		reached = state.KeyEnded
	case k.Acted:
		reached = state.KeyActed
	}
	return state.Key{
		Owner: k.Owner, Key: k.Key, Hash: k.Hash, TurnID: k.TurnID, ConversationID: k.ConversationID,
		State: reached, Outcome: k.Outcome,
	}
}

// ResponseStore keeps responses in the host's database.
type ResponseStore struct{ *state.Store }

var _ responses.Store = ResponseStore{}

// Put implements [responses.Store].
func (s ResponseStore) Put(ctx context.Context, r responses.Stored) error {
	return s.PutResponse(ctx, state.Response(r))
}

// Get implements [responses.Store].
func (s ResponseStore) Get(ctx context.Context, owner, id string) (responses.Stored, bool, error) {
	r, ok, err := s.GetResponse(ctx, owner, id)
	return responses.Stored(r), ok, err
}

// Delete implements [responses.Store].
func (s ResponseStore) Delete(ctx context.Context, owner, id string) (bool, error) {
	return s.DeleteResponse(ctx, owner, id)
}
