package main

import (
	"context"
	"encoding/json"

	"molar/agent"
	"molar/internal/store"
	"molar/web"
)

// pauses keeps turns that wait for a client's own tools in the host's database.
type pauses struct{ *store.DB }

var _ agent.Pauses = pauses{}

func (p pauses) Keep(ctx context.Context, k agent.Pause) error {
	return p.KeepTurn(ctx, store.KeptTurn(k))
}

func (p pauses) Kept(ctx context.Context, owner, callID string) (json.RawMessage, bool, error) {
	return p.GetKeptTurn(ctx, owner, callID)
}

// keyStore remembers Idempotency-Keys in the host's database.
type keyStore struct{ *store.DB }

var _ web.KeyStore = keyStore{}

func (s keyStore) Claim(ctx context.Context, k web.KeyRecord) (web.KeyRecord, bool, error) {
	found, claimed, err := s.ClaimKey(ctx, storeKey(k))
	return web.KeyRecord{
		Owner: found.Owner, Key: found.Key, Hash: found.Hash, TurnID: found.TurnID, ConversationID: found.ConversationID,
		Acted: found.State == store.KeyActed, Outcome: found.Outcome,
	}, claimed, err
}

func (s keyStore) Set(ctx context.Context, k web.KeyRecord) error { return s.SetKey(ctx, storeKey(k)) }

func (s keyStore) Release(ctx context.Context, owner, key string) error {
	return s.ReleaseKey(ctx, owner, key)
}

func storeKey(k web.KeyRecord) store.Key {
	state := store.KeyOpen
	switch {
	case len(k.Outcome) > 0:
		state = store.KeyEnded
	case k.Acted:
		state = store.KeyActed
	}
	return store.Key{
		Owner: k.Owner, Key: k.Key, Hash: k.Hash, TurnID: k.TurnID, ConversationID: k.ConversationID,
		State: state, Outcome: k.Outcome,
	}
}
