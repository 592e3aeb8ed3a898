// Package consent keeps calls that nobody could be asked about, until the person's next message:
// a plain yes there approves exactly them.
package consent

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

// Bounds of what is kept.
const (
	keepFor = 24 * time.Hour
	// most is how many calls one yes may approve, maxShown how many bytes of arguments are
	// shown: nobody agrees to what they have not seen.
	most     = 5
	maxShown = 8000
	// wordLength is that of a word that a yes must name.
	wordLength = 5
)

// Store keeps the calls.
type Store interface {
	KeepTurn(ctx context.Context, p schemas.KeptTurn) error
	// TakeKeptTurn returns what was kept under an id of the owner, once.
	TakeKeptTurn(ctx context.Context, owner, id string) (json.RawMessage, bool, error)
}

// Waiting are calls that wait for a yes, each a part of what the model said, with the
// provider's private state.
type Waiting []schemas.Part

// With adds a call that is not there yet, and fits.
func (w Waiting) With(part schemas.Part) Waiting {
	known := slices.ContainsFunc(w, func(p schemas.Part) bool { return toolhandler.SameCall(*p.Call, *part.Call) })
	if known || len(w) == most || len(part.Call.Function.Arguments) > maxShown {
		return w
	}
	return append(w, part)
}

// Calls are the calls alone.
func (w Waiting) Calls() []schemas.ToolCall { return schemas.Message{Parts: w}.Calls() }

// Notice tells the person what was not done, and how to allow it. Where markup in what was shown
// before may hide it, the yes must name a word that stands in the notice alone: else it may be one
// to another question.
func (w Waiting) Notice(lang, before string) string {
	word := ""
	if markup.MatchString(before) {
		word = rand.Text()[:wordLength]
	}
	lines := make([]string, len(w))
	for i, p := range w {
		lines[i] = fmt.Sprintf("- `%s` `%s`", p.Call.Function.Name, shown(p.Call.Function.Arguments))
	}
	return prompts.Waiting(lang, lines, word)
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
func (w Waiting) Keep(ctx context.Context, store Store, owner, conversation, notice string, now time.Time) error {
	state, err := json.Marshal(w)
	if err != nil {
		return err
	}
	return store.KeepTurn(ctx, schemas.KeptTurn{
		Owner: owner, ConversationID: conversation, CallIDs: []string{idOf(notice)}, State: state, Expires: now.Add(keepFor),
	})
}

// Take returns the calls that a message approves: a plain yes right after an answer that ends
// in their notice. Any other message drops them. Each has a new id, for it is a new call.
func Take(ctx context.Context, store Store, owner, message, answer string) (Waiting, error) {
	notice := prompts.FindWaiting(answer)
	if notice == "" {
		return nil, nil
	}
	state, found, err := store.TakeKeptTurn(ctx, owner, idOf(notice))
	if err != nil || !found || !approves(message, prompts.NamedIn(notice)) {
		return nil, err
	}
	var w Waiting
	if err := json.Unmarshal(state, &w); err != nil {
		return nil, fmt.Errorf("read the calls that wait for a yes: %w", err)
	}
	for i := range w {
		w[i].Call.ID = uuid.NewString()
	}
	return w, nil
}

// idOf is the same however a client writes the spaces of an answer.
func idOf(notice string) string {
	sum := sha256.Sum256([]byte(strings.Join(strings.Fields(notice), "")))
	return "consent_" + hex.EncodeToString(sum[:])
}

// IsYes reports whether a message is a plain yes and nothing else.
func IsYes(message string) bool {
	words := strings.FieldsFunc(text.Fold(message), func(r rune) bool { return strings.ContainsRune(" \t\r\n.,!;:'\"…👍", r) })
	said := strings.Join(words, " ")
	return slices.Contains(yeses(), said) || message != "" && strings.Trim(message, "👍✅ \n") == ""
}

// MayBeYes reports whether a message is a plain yes, and perhaps a word that a notice names.
func MayBeYes(message string) bool {
	yes, word := lastWord(message)
	return IsYes(message) || len(word) == wordLength && IsYes(yes)
}

// approves reports whether a message is a plain yes that names the word, if there is one.
func approves(message, word string) bool {
	if word == "" {
		return IsYes(message)
	}
	yes, named := lastWord(message)
	return strings.EqualFold(named, word) && IsYes(yes)
}

// lastWord parts a message from its last word.
func lastWord(message string) (before, word string) {
	message = strings.TrimRight(message, " .,!\r\n")
	at := strings.LastIndexAny(message, " \n") + 1
	return message[:at], message[at:]
}

// yeses are plain ways to agree, folded.
func yeses() []string {
	return []string{
		"yes", "y", "yep", "yeah", "yup", "yes please", "yes do it", "yes go ahead", "ok", "okay", "ok do it", "ok go ahead", "sure", "go ahead", "do it", "please do",
		"please do it", "approve", "approved", "i approve", "i agree", "agreed", "confirm", "confirmed", "i confirm", "allow", "allow it",
		"dong y", "toi dong y", "minh dong y", "em dong y", "anh dong y", "co", "co nhe", "u", "uh", "um", "vang", "da", "da vang", "da co", "da dong y", "duoc", "duoc nhe", "duoc chu",
		"ok nhe", "ok em", "ok ban", "lam di", "cu lam di", "gui di", "xac nhan", "chap nhan", "chap thuan", "cho phep",
	}
}
