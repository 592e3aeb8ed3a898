package web

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"molar/schemas"
)

// A veil is what a reviewer may know of the person of a turn, and of its conversation.
type veil struct {
	// person is a pseudonym, or the owner's id if reviewers see people; then name is what they are called.
	person, name, conversation string
	// names gives the person away wherever it stands in a text, called where it is the whole of one; both
	// are empty if reviewers see people.
	names  *regexp.Regexp
	called []string
}

// veils makes the veils of a request.
type veils struct {
	*Review
	secret []byte
	known  map[string]knownOwner
}

// A knownOwner is what the owner of turns is called.
type knownOwner struct {
	name  string
	names *regexp.Regexp
}

// of returns the veil of a turn's owner. A pseudonym lasts for the conversation: the questions of one
// belong together, and what somebody asked in others cannot be found by it.
func (v *veils) of(ctx context.Context, owner, conversation, turn string) (veil, error) {
	who, err := v.owner(ctx, owner)
	if err != nil || v.People {
		return veil{person: owner, name: who.name, conversation: conversation}, err
	}
	if v.secret == nil {
		if v.secret, err = v.Secret(ctx); err != nil {
			return veil{}, err
		}
	}
	about := "conversation " + conversation
	if conversation == "" {
		about = "turn " + turn
	}
	mac := hmac.New(sha256.New, v.secret)
	mac.Write([]byte(owner + "\x00" + about))
	sum := mac.Sum(nil)
	hidden := veil{person: "person-" + hex.EncodeToString(sum[:3]), names: who.names, called: []string{owner, who.name}}
	if conversation != "" { // a client may have chosen its id, and written anything into it
		hidden.conversation = "conversation-" + hex.EncodeToString(sum[3:9])
	}
	return hidden, nil
}

// owner returns what an owner is called.
func (v *veils) owner(ctx context.Context, owner string) (knownOwner, error) {
	if who, ok := v.known[owner]; ok {
		return who, nil
	}
	name, texts, err := v.Names(ctx, owner)
	if err != nil {
		return knownOwner{}, err
	}
	who := knownOwner{name: name}
	var parts []string
	for _, text := range texts {
		parts = append(parts, regexp.QuoteMeta(text))
	}
	if len(parts) > 0 {
		slices.SortFunc(parts, func(a, b string) int { return len(b) - len(a) }) // the longest one wins
		who.names = regexp.MustCompile(`(?i)` + strings.Join(parts, "|"))
	}
	v.known[owner] = who
	return who, nil
}

func (s *server) veils() *veils { return &veils{Review: &s.Review, known: map[string]knownOwner{}} }

// text returns a text with the pseudonym in place of each name that stands in it as a whole.
func (v veil) text(text string) string {
	if v.names == nil {
		return text
	}
	var b strings.Builder
	end := 0
	for _, at := range v.names.FindAllStringIndex(text, -1) {
		before, _ := utf8.DecodeLastRuneInString(text[:at[0]])
		after, _ := utf8.DecodeRuneInString(text[at[1]:])
		if !isLetter(before) && !isLetter(after) {
			b.WriteString(text[end:at[0]] + v.person)
			end = at[1]
		}
	}
	return b.String() + text[end:]
}

func isLetter(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.Is(unicode.Mn, r)
}

// name shows a reviewer of turns what may be known of their people.
func (s *server) name(r *http.Request, turns []schemas.ListedTurn) error {
	all := s.veils()
	for i := range turns {
		t := &turns[i]
		v, err := all.of(r.Context(), t.Owner, t.ConversationID, t.ID)
		if err != nil {
			return err
		}
		if t.Person, t.Name = v.person, v.name; !s.isOthers(r, t.Owner) {
			continue
		}
		t.ConversationID, t.Note = v.conversation, v.text(t.Note)
		if t.Question != nil {
			t.Question = new(v.text(*t.Question))
		}
	}
	return nil
}

// nameMarks shows a reviewer of marks what may be known of their people.
func (s *server) nameMarks(r *http.Request, marks []schemas.Feedback) error {
	all := s.veils()
	for i := range marks {
		f := &marks[i]
		if !s.isOthers(r, f.Owner) {
			continue
		}
		v, err := all.of(r.Context(), f.Owner, f.ConversationID, f.TurnID)
		if err != nil {
			return err
		}
		f.ConversationID, f.Note = v.conversation, v.text(f.Note)
	}
	return nil
}

// nameTrace adds to the trace of a turn what a reviewer may know of its person, and takes away the rest.
func (s *server) nameTrace(ctx context.Context, t schemas.ListedTurn, trace json.RawMessage) (json.RawMessage, error) {
	v, err := s.veils().of(ctx, t.Owner, t.ConversationID, t.ID)
	if err != nil {
		return nil, err
	}
	var all map[string]any
	from := json.NewDecoder(bytes.NewReader(trace))
	from.UseNumber()
	if err := from.Decode(&all); err != nil {
		return nil, err
	}
	for name, value := range all {
		all[name] = v.value(value)
	}
	all["person"] = v.person
	if v.name != "" {
		all["name"] = v.name
	}
	if t.ConversationID != "" {
		all["conversation_id"] = v.conversation
	}
	return json.Marshal(all)
}

// value returns a JSON value with the pseudonym in place of names in its texts.
func (v veil) value(value any) any {
	switch value := value.(type) {
	case string:
		return v.text(value)
	case []any:
		for i := range value {
			value[i] = v.value(value[i])
		}
	case map[string]any:
		for name := range value {
			if by, _ := value[name].(string); name == "decided_by" && by != "" && slices.Contains(v.called, by) {
				value[name] = v.person
				continue
			}
			value[name] = v.value(value[name])
		}
	}
	return value
}
