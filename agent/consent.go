package agent

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"molar/agent/prompts"
	"molar/internal/text"
	"molar/schemas"
	"molar/toolhandler"
)

const (
	keepFor = 24 * time.Hour
	// maxShown is how many bytes of a call's arguments are shown whole, and maxValue how many of a text
	// in longer ones: of those each begins, so that none hides behind another.
	maxShown = 8000
	maxValue = 400
	// wordLength is that of a word that a yes must name, hashLength that of the part of a hash that is shown.
	wordLength = 5
	hashLength = 12
)

// ConsentStore keeps the calls.
type ConsentStore interface {
	KeepTurn(ctx context.Context, p schemas.KeptTurn) error
	// TakeKeptTurn returns what was kept under an id of the owner, once.
	TakeKeptTurn(ctx context.Context, owner, id string) (json.RawMessage, bool, error)
}

// waiting are calls that wait for a yes, each a part of what the model said, with the
// provider's private state.
type waiting []schemas.Part

// With adds a call that is not there yet.
func (w waiting) With(part schemas.Part) waiting {
	if w.has(*part.Call) {
		return w
	}
	return append(w, part)
}

func (w waiting) has(call schemas.ToolCall) bool {
	return slices.ContainsFunc(w, func(p schemas.Part) bool { return toolhandler.SameCall(*p.Call, call) })
}

// Without are the calls that do not wait in another set.
func (w waiting) Without(again waiting) waiting {
	return slices.DeleteFunc(slices.Clone(w), func(p schemas.Part) bool { return again.has(*p.Call) })
}

// Calls are the calls alone.
func (w waiting) Calls() []schemas.ToolCall { return schemas.Message{Parts: w}.Calls() }

// Notice tells the person what was not done, and how to allow it. Where markup in what was shown
// before may hide it, the yes must name a word that stands in the notice alone: else it may be one
// to another question. So it must where a call is too long to be shown whole: nobody agrees to that by
// a word they say anyway.
func (w waiting) Notice(lang, before string) string {
	why := prompts.Plain
	if markup.MatchString(before) {
		why = prompts.Hidden
	}
	lines := make([]string, len(w))
	for i, p := range w {
		line, whole := shownCall(lang, p.Call.Function)
		if lines[i] = line; !whole {
			why = prompts.Cut
		}
	}
	word := ""
	if why != prompts.Plain {
		word = rand.Text()[:wordLength]
	}
	return prompts.Waiting(lang, lines, why, word)
}

// shownCall is a call as a notice shows it, and whether that is all of it. What is not shown is told by its
// length and hash.
func shownCall(lang string, f schemas.FunctionCall) (line string, whole bool) {
	if len(f.Arguments) <= maxShown {
		return fmt.Sprintf("- `%s` `%s`", f.Name, shown(f.Arguments)), true
	}
	line = fmt.Sprintf("- `%s` `%s`", f.Name, text.Clip(shown(begun(f.Arguments)), maxShown, "…"))
	return line + " " + prompts.Length(lang, len(f.Arguments), toolhandler.Hash(f.Arguments)[:hashLength]), false
}

// begun is long arguments with the beginning of each long text.
func begun(arguments string) string {
	dec := json.NewDecoder(strings.NewReader(arguments))
	dec.UseNumber()
	var value any
	if dec.Decode(&value) != nil {
		return arguments
	}
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if enc.Encode(clipped(value)) != nil {
		return arguments
	}
	return b.String()
}

func clipped(value any) any {
	switch v := value.(type) {
	case string:
		return text.Clip(v, maxValue, "…")
	case []any:
		for i := range v {
			v[i] = clipped(v[i])
		}
	case map[string]any:
		for key := range v {
			v[key] = clipped(v[key])
		}
	}
	return value
}

// markup is what Markdown passes on as HTML.
var markup = regexp.MustCompile(`<[!?/a-zA-Z]`)

// shown writes arguments on one line, in which no client finds an address to open, and nothing
// stands that is not seen or turns the order of what is.
func shown(arguments string) string {
	arguments = text.Seen(strings.Join(strings.Fields(arguments), " "))
	return strings.ReplaceAll(strings.ReplaceAll(arguments, "://", `:\/\/`), "`", `\u0060`)
}

// Keep stores the calls of an answer that ends in their notice, by which they are found again:
// it stands in the history, whoever keeps that.
func (w waiting) Keep(ctx context.Context, store ConsentStore, owner, conversation, notice string, now time.Time) error {
	state, err := json.Marshal(w)
	if err != nil {
		return err
	}
	return store.KeepTurn(ctx, schemas.KeptTurn{
		Owner: owner, ConversationID: conversation, CallIDs: []string{idOf(notice)}, State: state, Expires: now.Add(keepFor),
	})
}

// take returns the calls that wait for a yes in the message after an answer, which ends in their notice, and
// whether the message is one: plain, and in the words of the notice's language. Any other message drops them, so
// they wait no more in either case. Each has a new id, for it is a new call.
func take(ctx context.Context, store ConsentStore, owner, message, answer string) (w waiting, agreed bool, err error) {
	notice, lang := prompts.FindWaiting(answer)
	if notice == "" {
		return nil, false, nil
	}
	state, found, err := store.TakeKeptTurn(ctx, owner, idOf(notice))
	if err != nil || !found {
		return nil, false, err
	}
	if err := json.Unmarshal(state, &w); err != nil {
		return nil, false, fmt.Errorf("read the calls that wait for a yes: %w", err)
	}
	for i := range w {
		w[i].Call.ID = uuid.NewString()
	}
	return w, approves(message, prompts.NamedIn(notice), lang), nil
}

// idOf is the same however a client writes the spaces of an answer.
func idOf(notice string) string {
	sum := sha256.Sum256([]byte(strings.Join(strings.Fields(notice), "")))
	return "consent_" + hex.EncodeToString(sum[:])
}

// mayBeYes reports whether a message is a plain yes in some language, and perhaps a word that a notice names.
func mayBeYes(message string) bool {
	yes, word := lastWord(message)
	return IsYes(message, "vi") || len(word) == wordLength && IsYes(yes, "vi")
}

// approves reports whether a message is a plain yes that names the word, if there is one.
func approves(message, word, lang string) bool {
	if word == "" {
		return IsYes(message, lang)
	}
	yes, named := lastWord(message)
	return strings.EqualFold(named, word) && IsYes(yes, lang)
}

// lastWord parts a message from its last word.
func lastWord(message string) (before, word string) {
	message = strings.TrimRight(message, " .,!\r\n")
	at := strings.LastIndexAny(message, " \n") + 1
	return message[:at], message[at:]
}
