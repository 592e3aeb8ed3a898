package agent

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"sync"
	"time"

	"molar/internal/text"
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

// rememberFor is how long an answer is remembered, rememberWait how long that may take: a store that
// does not answer has kept the turn waiting before.
const (
	rememberFor  = 30 * 24 * time.Hour
	rememberWait = 500 * time.Millisecond
)

// hashOf returns the keyed hash of an answer, whatever spaces a client puts into it.
func hashOf(key []byte, owner, text string) string {
	said := make([]byte, 0, len(owner)+1+len(text))
	said = append(append(said, owner...), 0)
	for word := range strings.FieldsSeq(text) {
		said = append(said, word...)
	}
	mac := hmac.New(sha256.New, key)
	mac.Write(said)
	return hex.EncodeToString(mac.Sum(nil))
}

// withoutNames returns origins without the names of files, which are a person's: what is remembered
// outlives their conversation.
func withoutNames(origins []schemas.Origin) []schemas.Origin {
	short := slices.Clone(origins)
	for i, o := range short {
		if o.IsFile() {
			short[i] = schemas.FromFile
		}
	}
	slices.Sort(short)
	return slices.Compact(short)
}

// keyOfAnswers returns the key of the hashes, which is read once.
func (a *Agent) keyOfAnswers(ctx context.Context) ([]byte, error) {
	if key := a.answerKey.Load(); key != nil {
		return *key, nil
	}
	key, err := a.cfg.Answers.AnswerKey(ctx)
	if err == nil {
		a.answerKey.Store(&key)
	}
	return key, err
}

// maxBeginning is the most bytes of the beginning of an answer.
const maxBeginning = 500

// Beginning returns the beginning of an answer, as a client may have it in a history that was made
// shorter: its first paragraph, cut.
func Beginning(answer string) string {
	first, _, _ := strings.Cut(answer, "\n\n")
	return text.Clip(first, maxBeginning, "…")
}

// remember stores the origins of what the turn has read under the texts that its client may send back:
// the answer, each text before a call, and all of them as they were streamed.
func (a *Agent) remember(ctx context.Context, w *task) {
	texts := w.out.Texts()
	if a.cfg.Answers == nil || len(texts) == 0 || w.ending == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), rememberWait)
	defer cancel()
	key, err := a.keyOfAnswers(ctx)
	if err == nil {
		var hashes []string
		texts = append(texts, joinParagraphs(w.ending.before, w.out.Answer()))
		slices.Sort(texts)
		for _, text := range slices.Compact(texts) {
			hashes = append(hashes, hashOf(key, w.turn.Owner, text))
			if begins := Beginning(text); begins != text {
				hashes = append(hashes, hashOf(key, w.turn.Owner, begins))
			}
		}
		slices.Sort(hashes)
		err = a.cfg.Answers.RememberAnswer(ctx, w.turn.Owner, slices.Compact(hashes), toStrings(withoutNames(w.ending.held(w))), a.cfg.Now().Add(rememberFor))
		a.known.mu.Lock()
		for _, hash := range hashes { // it may have read more than an earlier one
			delete(a.known.all, hash)
		}
		a.known.mu.Unlock()
	}
	if err != nil {
		a.log.Warn("what the answer had read is not remembered, so a client that sends it back is asked more often", "turn", w.turn.ID, "error", err)
	}
}

// traceSent adds to the exchanges that a client sent where their texts come from: of a text of this
// host's models what its turn had read, of any other the client itself. A result is one of the server
// that it names, but never the operator's text, which a client cannot vouch for.
func (a *Agent) traceSent(ctx context.Context, w *task, sent []Exchange) []Exchange {
	known := a.rememberedOf(ctx, w, sent)
	var before []schemas.Origin
	for i := range sent {
		x := &sent[i]
		read := append(slices.Clone(before), x.From...)
		for _, p := range x.Files {
			read = append(read, file(p.Name))
		}
		for _, text := range x.said() {
			if origins, ours := known[text]; ours {
				read = append(read, origins...)
			} else {
				read = append(read, schemas.FromClient)
			}
		}
		for _, round := range x.Rounds() {
			for _, r := range round.Results {
				if reading, foreign := w.catalogue.Result(r, callOf(round, r.ID)); foreign {
					read = append(read, reading.Origin)
				} else {
					read = append(read, schemas.FromClient)
				}
			}
		}
		slices.Sort(read)
		x.known, x.Read = true, slices.Compact(read)
		before = x.Read
	}
	return sent
}

// said returns the texts that a model wrote, with those before its calls.
func (x Exchange) said() []string {
	var texts []string
	for _, m := range x.Answers {
		texts = append(texts, m.Content)
		for _, round := range m.Rounds() {
			texts = append(texts, round.Said.Said())
		}
	}
	return slices.DeleteFunc(texts, func(text string) bool { return strings.TrimSpace(text) == "" })
}

// rememberedOf returns the origins of the answers of this host, by text.
func (a *Agent) rememberedOf(ctx context.Context, w *task, sent []Exchange) map[string][]schemas.Origin {
	known := make(map[string][]schemas.Origin)
	var texts []string
	for _, x := range sent {
		texts = append(texts, x.said()...)
	}
	if a.cfg.Answers == nil || len(texts) == 0 {
		return known
	}
	ctx, cancel := context.WithTimeout(ctx, storeWait)
	defer cancel()
	key, err := a.keyOfAnswers(ctx)
	var found map[string][]string
	hashes := make([]string, len(texts))
	if err == nil {
		for i, text := range texts {
			hashes[i] = hashOf(key, w.turn.Owner, text)
		}
		found, err = a.originsOfAnswers(ctx, w.turn.Owner, hashes)
	}
	if err != nil {
		a.log.Warn("earlier answers cannot be looked up, so a client's history counts as foreign", "error", err)
		return known
	}
	for i, text := range texts {
		if origins, ours := found[hashes[i]]; ours {
			known[text] = toOrigins(origins)
		}
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

// knownAnswers are the results of look-ups: a client sends the same answers with each of its requests,
// and one that runs tools itself sends many within seconds.
type knownAnswers struct {
	mu  sync.Mutex
	all map[string]knownAnswer
}

// A knownAnswer is the result of a look-up; origins is nil for an answer that nobody here made.
type knownAnswer struct {
	origins []string
	until   time.Time
}

// maxKnownAnswers bounds them, and knownFor how long another replica may have remembered more.
const (
	maxKnownAnswers = 8192
	knownFor        = 10 * time.Second
)

// originsOfAnswers looks answers up.
func (a *Agent) originsOfAnswers(ctx context.Context, owner string, hashes []string) (map[string][]string, error) {
	found := make(map[string][]string)
	var rest []string
	now := a.cfg.Now()
	a.known.mu.Lock()
	for _, hash := range hashes {
		switch k, ok := a.known.all[hash]; { // the hash covers the owner
		case !ok || now.After(k.until):
			rest = append(rest, hash)
		case k.origins != nil:
			found[hash] = k.origins
		}
	}
	a.known.mu.Unlock()
	if len(rest) == 0 {
		return found, nil
	}
	more, err := a.cfg.Answers.AnswerOrigins(ctx, owner, rest)
	if err != nil {
		return found, err
	}
	a.known.mu.Lock()
	defer a.known.mu.Unlock()
	if a.known.all == nil || len(a.known.all) > maxKnownAnswers {
		a.known.all = make(map[string]knownAnswer)
	}
	for _, hash := range rest {
		origins, ours := more[hash]
		if ours {
			origins = append([]string{}, origins...)
			found[hash] = origins
		}
		a.known.all[hash] = knownAnswer{origins, now.Add(knownFor)}
	}
	return found, nil
}
