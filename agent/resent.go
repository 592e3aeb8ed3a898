package agent

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"time"

	"molar/schemas"
	"molar/toolhandler"
)

// Answers remembers the origins of what answers had read, by keyed hashes of their texts. A client
// that keeps the history itself sends such an answer back.
type Answers interface {
	// AnswerKey returns the key of the hashes: it is the same on every replica.
	AnswerKey(ctx context.Context) ([]byte, error)
	RememberAnswer(ctx context.Context, owner string, hashes, origins []string, until time.Time) error
	// AnswerOrigins returns the origins by hash, of those that are remembered.
	AnswerOrigins(ctx context.Context, owner string, hashes []string) (map[string][]string, error)
}

// rememberFor is how long an answer is remembered.
const rememberFor = 30 * 24 * time.Hour

// hashOf returns the keyed hash of an answer, whatever spaces a client puts into it.
func hashOf(key []byte, owner, text string) string {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(owner + "\x00" + strings.Join(strings.Fields(text), "")))
	return hex.EncodeToString(mac.Sum(nil))
}

// remember stores the origins of what the turn has read under the texts that its client may send back:
// the answer, and all that was streamed.
func (a *Agent) remember(ctx context.Context, w *task) {
	shown := w.out.Shown()
	if a.cfg.Answers == nil || shown == "" || w.ending == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeWait)
	defer cancel()
	key, err := a.cfg.Answers.AnswerKey(ctx)
	if err == nil {
		hashes := []string{hashOf(key, w.turn.Owner, shown)}
		if own := hashOf(key, w.turn.Owner, w.out.Answer()); own != hashes[0] && w.out.Answer() != "" {
			hashes = append(hashes, own)
		}
		err = a.cfg.Answers.RememberAnswer(ctx, w.turn.Owner, hashes, toStrings(w.ending.read(w)), a.cfg.Now().Add(rememberFor))
	}
	if err != nil {
		a.log.Warn("what the answer had read is not remembered, so a client that sends it back is asked more often", "turn", w.turn.ID, "error", err)
	}
}

// traceSent adds to the exchanges that a client sent where their texts come from: of an answer of this
// host what it had read, of any other the client itself.
func (a *Agent) traceSent(ctx context.Context, w *task, sent []Exchange) []Exchange {
	known := a.rememberedOf(ctx, w, sent)
	var before []schemas.Origin
	for i := range sent {
		x := &sent[i]
		x.known, x.Read = true, append(x.Read, before...)
		for _, p := range x.Files {
			x.Read = append(x.Read, file(p.Name))
		}
		x.Read = append(x.Read, x.From...)
		for _, m := range x.Answers {
			if m.Content == "" {
				continue
			}
			if origins, ours := known[m.Content]; ours {
				x.Read = append(x.Read, origins...)
			} else {
				x.Read = append(x.Read, schemas.FromClient)
			}
		}
		for _, round := range x.Rounds() {
			for _, r := range round.Results {
				x.Read = append(x.Read, w.catalogue.Origin(r))
			}
		}
		before = x.Read
	}
	return sent
}

// rememberedOf returns the origins of the answers of this host, by text.
func (a *Agent) rememberedOf(ctx context.Context, w *task, sent []Exchange) map[string][]schemas.Origin {
	known := make(map[string][]schemas.Origin)
	texts := make(map[string]string)
	if a.cfg.Answers == nil || len(sent) == 0 {
		return known
	}
	ctx, cancel := context.WithTimeout(ctx, storeWait)
	defer cancel()
	key, err := a.cfg.Answers.AnswerKey(ctx)
	if err != nil {
		a.log.Warn("earlier answers cannot be looked up, so a client's history counts as foreign", "error", err)
		return known
	}
	var hashes []string
	for _, x := range sent {
		for _, m := range x.Answers {
			if m.Content != "" {
				hash := hashOf(key, w.turn.Owner, m.Content)
				texts[hash], hashes = m.Content, append(hashes, hash)
			}
		}
	}
	found, err := a.cfg.Answers.AnswerOrigins(ctx, w.turn.Owner, hashes)
	if err != nil {
		a.log.Warn("earlier answers cannot be looked up, so a client's history counts as foreign", "error", err)
	}
	for hash, origins := range found {
		known[texts[hash]] = toOrigins(origins)
	}
	return known
}

// audit reports a decision about a call.
func (a *Agent) audit(ctx context.Context, r toolhandler.Ruling) {
	toolhandler.Audit(a.log, r)
	if a.cfg.Audit != nil {
		a.cfg.Audit(ctx, r)
	}
}
