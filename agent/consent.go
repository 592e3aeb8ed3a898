package agent

import (
	"cmp"
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
	"molar/agent/subject"
	"molar/internal/text"
	"molar/schemas"
	"molar/toolhandler"
)

const (
	keepFor = 24 * time.Hour
	// maxShown is the length up to which a call's arguments are shown whole, in bytes; in longer
	// arguments each text is shown up to maxValue bytes, so that none hides another.
	maxShown = 8000
	maxValue = 400
	// wordLength is the length of the word that a yes must repeat, hashLength that of the shown
	// part of a hash.
	wordLength = 5
	hashLength = 12
)

// ConsentStore stores calls that are pending approval.
type ConsentStore interface {
	KeepTurn(ctx context.Context, p schemas.PauseRecord) error
	// TakeKeptTurn returns and deletes what is stored under an id of the owner.
	TakeKeptTurn(ctx context.Context, owner, id string) (json.RawMessage, bool, error)
}

// A pendingCall is a call that is pending approval: a part of the model's message, with the
// provider's private state. Only the part is stored.
type pendingCall struct {
	schemas.Part
	tool   schemas.Tool
	reason toolhandler.Reason
	// was is the id that it had when it was stored.
	was string
	// approver is set if somebody has approved it who may decide about calls that need approvers; by and
	// byName are theirs.
	approver   bool
	by, byName string
}

// pendingCalls are the calls of an answer that are pending approval.
type pendingCalls []pendingCall

func pendingOf(parts []schemas.Part) pendingCalls {
	w := make(pendingCalls, len(parts))
	for i := range parts {
		w[i].Part = parts[i]
	}
	return w
}

// With adds a call, unless it is already in the set.
func (w pendingCalls) With(c pendingCall) pendingCalls {
	if w.has(*c.Call) {
		return w
	}
	return append(w, c)
}

func (w pendingCalls) has(call schemas.ToolCall) bool {
	return slices.ContainsFunc(w, func(c pendingCall) bool { return toolhandler.SameCall(*c.Call, call) })
}

// Without returns the calls that are not in another set.
func (w pendingCalls) Without(again pendingCalls) pendingCalls {
	return slices.DeleteFunc(slices.Clone(w), func(c pendingCall) bool { return again.has(*c.Call) })
}

// Parts returns the calls as parts of the model's message.
func (w pendingCalls) Parts() []schemas.Part {
	parts := make([]schemas.Part, len(w))
	for i := range w {
		parts[i] = w[i].Part
	}
	return parts
}

// Calls returns the calls without the provider's state.
func (w pendingCalls) Calls() []schemas.ToolCall { return schemas.Message{Parts: w.Parts()}.Calls() }

// Notice returns the notice of the calls that were not run, each in plain words and with its arguments
// below, and how to approve them. If markup in the text before may hide the notice, the yes must repeat
// a word that only the notice contains: it may otherwise answer another question. The same applies to a
// call that is too long to be shown whole, which a casual yes must not approve.
func (w pendingCalls) Notice(lang, before string) string {
	why := prompts.Plain
	if markup.MatchString(before) {
		why = prompts.Hidden
	}
	lines := make([]string, len(w))
	for i, c := range w {
		said := prompts.Ask(prompts.AskInput{Language: lang, Tool: c.tool, Arguments: c.Call.Function.Arguments, Reason: c.reason, Quote: inCode})
		line, whole := shownCall(lang, c.Call.Function)
		if !whole {
			why = prompts.Cut
		}
		lines[i] = "- " + said.What + "  \n  " + said.Why + "  \n  " + said.Where + "  \n  " + line
		if who := c.tool.Rules.Approvers; len(who) > 0 {
			lines[i] += "  \n  " + prompts.WaitingFor(lang, who)
		}
	}
	word := ""
	if why != prompts.Plain {
		word = rand.Text()[:wordLength]
	}
	return prompts.Waiting(lang, lines, why, word)
}

// shownCall returns a call as a notice shows it, and reports whether that is all of it. If it is
// not, the length and the hash of the arguments are shown too.
func shownCall(lang string, f schemas.FunctionCall) (line string, whole bool) {
	if len(f.Arguments) <= maxShown {
		return fmt.Sprintf("`%s` `%s`", f.Name, shown(f.Arguments)), true
	}
	begun := text.EditJSON(f.Arguments, func(value string) string { return text.Clip(value, maxValue, "…") })
	line = fmt.Sprintf("`%s` `%s`", f.Name, text.Clip(shown(begun), maxShown, "…"))
	return line + " " + prompts.Length(lang, len(f.Arguments), toolhandler.Hash(f.Arguments)[:hashLength]), false
}

// markup matches what Markdown passes through as HTML.
var markup = regexp.MustCompile(`<[!?/a-zA-Z]`)

// shown returns arguments on one line, without addresses that a client would make clickable.
func shown(arguments string) string {
	return strings.ReplaceAll(strings.ReplaceAll(text.ShownJSON(arguments), "://", `:\/\/`), "`", `\u0060`)
}

// inCode returns a value of a call as code, which no client makes clickable.
func inCode(value string) string {
	return "`" + strings.ReplaceAll(strings.ReplaceAll(cmp.Or(value, " "), "://", `:\/\/`), "`", "'") + "`"
}

// Keep stores the calls of an answer that ends in their notice. They are found by the notice,
// which is in every copy of the history.
func (w pendingCalls) Keep(ctx context.Context, store ConsentStore, owner, conversation, notice string, now time.Time) error {
	state, err := json.Marshal(w.Parts())
	if err != nil {
		return err
	}
	return store.KeepTurn(ctx, schemas.PauseRecord{
		Owner: owner, ConversationID: conversation, CallIDs: []string{idOf(notice)}, State: state, Expires: now.Add(keepFor),
	})
}

// take returns the calls that are pending approval after an answer that ends in their notice, and
// reports whether the message approves them: a plain yes in the notice's language. In either case
// they are no longer pending afterwards. Each has a new id, as it becomes a new call.
func take(ctx context.Context, store ConsentStore, owner, message, answer string) (w pendingCalls, agreed bool, err error) {
	notice, lang := prompts.FindWaiting(answer)
	if notice == "" {
		return nil, false, nil
	}
	state, found, err := store.TakeKeptTurn(ctx, owner, idOf(notice))
	if err != nil || !found {
		return nil, false, err
	}
	var parts []schemas.Part
	if err := json.Unmarshal(state, &parts); err != nil {
		return nil, false, fmt.Errorf("read the calls pending approval: %w", err)
	}
	w = pendingOf(parts)
	for i, c := range w {
		w[i].was, c.Call.ID = c.Call.ID, uuid.NewString()
	}
	return w, approves(message, prompts.NamedIn(notice), lang), nil
}

// idOf returns the id of a notice, whatever spaces a client puts into it.
func idOf(notice string) string {
	sum := sha256.Sum256([]byte(strings.Join(strings.Fields(notice), "")))
	return "consent_" + hex.EncodeToString(sum[:])
}

// mayBeYes reports whether a message is a plain yes in some language, perhaps with the word of a
// notice.
func mayBeYes(message string) bool {
	yes, word := lastWord(message)
	return slices.ContainsFunc([]string{subject.English, subject.Vietnamese}, func(lang string) bool {
		return IsYes(message, lang) || len(word) == wordLength && IsYes(yes, lang)
	})
}

// approves reports whether a message is a plain yes that repeats the word, if there is one.
func approves(message, word, lang string) bool {
	if word == "" {
		return IsYes(message, lang)
	}
	yes, named := lastWord(message)
	return strings.EqualFold(named, word) && IsYes(yes, lang)
}

// lastWord splits a message before its last word.
func lastWord(message string) (before, word string) {
	message = strings.TrimRight(message, " .,!\r\n")
	at := strings.LastIndexAny(message, " \n") + 1
	return message[:at], message[at:]
}
