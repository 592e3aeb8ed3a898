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
)

// Answers remembers the origins of what answers had read, by keyed hashes of their texts. A client
// that keeps the history itself sends such an answer back.
type Answers interface {
	// AnswerKey returns the key of the hashes: it is the same on every replica.
	AnswerKey(ctx context.Context) ([]byte, error)
	RememberAnswer(ctx context.Context, owner string, hashes, origins []string, since, until time.Time) error
	// AnswerOrigins returns the origins by hash, of those that are remembered.
	AnswerOrigins(ctx context.Context, owner string, hashes []string) (map[string][]string, error)
}

// rememberFor is how long an answer is remembered, rememberWait how long that may take: a store that
// does not answer has kept the turn waiting before.
const (
	rememberFor  = 30 * 24 * time.Hour
	rememberWait = 500 * time.Millisecond
)

// hashOf returns the keyed hash of an answer, or of the parts of a result, whatever spaces a client puts
// into them: a line ends each part but the last.
func hashOf(key []byte, owner string, parts ...string) string {
	said := append([]byte(owner), 0)
	for i, part := range parts {
		if i > 0 {
			said = append(said, '\n')
		}
		said = slices.Grow(said, len(part))
		for word := range strings.FieldsSeq(part) {
			said = append(said, word...)
		}
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
		for _, result := range w.vouched() {
			hashes = append(hashes, hashOf(key, w.turn.Owner, result...))
		}
		slices.Sort(hashes)
		err = a.cfg.Answers.RememberAnswer(ctx, w.turn.Owner, slices.Compact(hashes), toStrings(withoutNames(w.ending.held(w))), w.turn.began, a.cfg.Now().Add(rememberFor))
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

// partsOf returns a call with its result as it is remembered.
func partsOf(call schemas.ToolCall, r schemas.ToolResult) []string {
	return []string{r.Server, r.ToolName, call.Function.Arguments, r.OutputText()}
}

// vouched returns the results of the turn that a client is only believed to have got if this host
// remembers them.
func (w *task) vouched() (results [][]string) {
	for _, round := range w.ending.answer.rounds {
		for _, r := range round.Results {
			if call := callOf(round, r.ID); call != nil && r.Server != "" && r.Server != PauseClient && !w.catalogue.MayClaim(r.Server) {
				results = append(results, partsOf(*call, r))
			}
		}
	}
	return results
}

// traceSent returns the exchanges that a client sent, with where their texts come from: of a text of
// this host's models what its turn had read, of any other the client itself. A result comes from the
// server that it names if that makes it no more trusted than the client's, or if this host remembers it.
func (a *Agent) traceSent(ctx context.Context, w *task) []Exchange {
	var texts [][]string
	for i, m := range w.turn.Messages {
		if m.Role != schemas.RoleAssistant {
			continue
		}
		texts = append(texts, []string{m.Said()})
		given := resultsAfter(w.turn.Messages[i+1:])
		for _, call := range m.Calls() {
			if r, ok := given[call.ID]; ok && r.Server != "" && !w.catalogue.MayClaim(r.Server) {
				texts = append(texts, partsOf(call, r))
			}
		}
	}
	known := a.rememberedOf(ctx, w, texts)
	sent := sent(w.turn.Messages, w.turn.Data, func(call schemas.ToolCall, r schemas.ToolResult) bool {
		if w.catalogue.MayClaim(r.Server) {
			return true
		}
		_, ours := known.origins(partsOf(call, r)...)
		return ours
	})
	var before []schemas.Origin
	for i := range sent {
		x := &sent[i]
		read := append(slices.Clone(before), x.From...)
		for _, p := range x.Files {
			read = append(read, file(p.Name))
		}
		for _, text := range x.said() {
			if origins, ours := known.origins(text); ours {
				read = append(read, origins...)
			} else {
				read = append(read, schemas.FromClient)
			}
		}
		given, own := results(w.catalogue, x.Rounds())
		if read = append(read, originsOf(given)...); len(own) > 0 {
			read = append(read, schemas.FromClient)
		}
		x.known, x.Read = true, sorted(read)
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

// remembered are the texts of a client that this host remembers; of the zero value there are none.
type remembered struct {
	key   []byte
	owner string
	all   map[string][]string
}

// origins returns the origins of a text, and whether it is remembered.
func (r remembered) origins(parts ...string) (origins []schemas.Origin, ours bool) {
	if len(r.all) == 0 {
		return nil, false
	}
	found, ours := r.all[hashOf(r.key, r.owner, parts...)]
	return toOrigins(found), ours
}

// rememberedOf returns which of these texts this host remembers.
func (a *Agent) rememberedOf(ctx context.Context, w *task, texts [][]string) remembered {
	if a.cfg.Answers == nil || len(texts) == 0 {
		return remembered{}
	}
	ctx, cancel := context.WithTimeout(ctx, storeWait)
	defer cancel()
	key, err := a.keyOfAnswers(ctx)
	known := remembered{key: key, owner: w.turn.Owner}
	if err == nil {
		hashes := make([]string, len(texts))
		for i, parts := range texts {
			hashes[i] = hashOf(key, w.turn.Owner, parts...)
		}
		known.all, err = a.originsOfAnswers(ctx, w.turn.Owner, hashes)
	}
	if err != nil {
		a.log.Warn("earlier answers cannot be looked up, so a client's history counts as foreign", "error", err)
		return remembered{}
	}
	return known
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
