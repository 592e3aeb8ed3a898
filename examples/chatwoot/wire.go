package chatwoot

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// errGone is the error of something that the other side does not have.
var errGone = errors.New("not there")

// A caller calls an API with a credential.
type caller struct {
	client        *http.Client
	base          string
	header, value string
}

// do sends in as JSON and reads the answer into out, unless they are nil. An error has neither addresses nor texts of
// an answer, which may hold secrets.
func (c caller) do(ctx context.Context, method, path, key string, in, out any) error {
	var body io.Reader
	if in != nil {
		text, err := json.Marshal(in)
		if err != nil {
			return err
		}
		body = bytes.NewReader(text)
	}
	r, err := http.NewRequestWithContext(ctx, method, c.base+path, body)
	if err != nil {
		return errors.New("make a request: the address cannot be used")
	}
	r.Header.Set(c.header, c.value)
	r.Header.Set("Content-Type", "application/json")
	if key != "" {
		r.Header.Set("Idempotency-Key", key)
	}
	answer, err := c.client.Do(r)
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err
	}
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode/100 != 2 {
		f := failure{status: answer.StatusCode}
		_ = json.NewDecoder(io.LimitReader(answer.Body, 64<<10)).Decode(&f)
		return f
	}
	if out == nil {
		return nil
	}
	return json.NewDecoder(answer.Body).Decode(out)
}

// A failure is an answer that is no success, with the code of Molar's errors.
type failure struct {
	status int
	Err    struct {
		Code string `json:"code"`
	} `json:"error"`
}

func (f failure) Error() string { return fmt.Sprintf("the answer was %d %s", f.status, f.Err.Code) }

// failed returns the failure that an error is.
func failed(err error) failure {
	f, _ := errors.AsType[failure](err)
	return f
}

// molar is Molar's API for the desk.
type molar struct{ caller }

type handover struct {
	ID           string            `json:"id"`
	Conversation string            `json:"conversation_id"`
	Language     string            `json:"language"`
	Reason       string            `json:"reason"`
	Contact      map[string]string `json:"contact"`
	State        string            `json:"state"`
	Callback     bool              `json:"callback"`
	CreatedAt    time.Time         `json:"created_at"`
}

// headline says to the agents who asks. Nobody has checked what the person wrote into the form.
func (h handover) headline(molar string) string {
	s := "A visitor of the web site asks for somebody (" + h.Reason + "), and wrote:"
	if h.Callback {
		s = "A visitor of the web site asked outside the hours (" + h.Reason + ") and waits to be called back. They wrote:"
	}
	names := make([]string, 0, len(h.Contact))
	for name := range h.Contact {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		s += "\n" + name + ": " + h.Contact[name]
	}
	return s + "\nlanguage: " + h.Language + "\n" + strings.TrimRight(molar, "/") + "/desk#handovers/" + h.ID
}

type message struct {
	By   string    `json:"by"` // visitor, assistant or desk
	Text string    `json:"text"`
	At   time.Time `json:"at"`
	Turn string    `json:"turn_id"`
}

// thread returns the messages of a conversation, and its newest hand-over.
func (m molar) thread(ctx context.Context, conversation string) (handover, []message, error) {
	var of struct {
		Handover handover  `json:"handover"`
		Data     []message `json:"data"`
	}
	err := m.do(ctx, http.MethodGet, "/v1/conversations/"+url.PathEscape(conversation)+"/messages", "", nil, &of)
	if failed(err).status == http.StatusNotFound {
		return handover{}, nil, errGone
	}
	if err != nil {
		return handover{}, nil, fmt.Errorf("read a conversation of Molar: %w", err)
	}
	return of.Handover, of.Data, nil
}

// open returns the hand-overs that are not closed.
func (m molar) open(ctx context.Context) (all []handover, err error) {
	for next := ""; ; {
		var page struct {
			Data []handover `json:"data"`
			Next string     `json:"next"`
		}
		if err := m.do(ctx, http.MethodGet, "/v1/handovers?state=open&after="+url.QueryEscape(next), "", nil, &page); err != nil {
			return nil, err
		}
		if all, next = append(all, page.Data...), page.Next; next == "" {
			return all, nil
		}
	}
}

// write writes to a person as the desk, once for a key. Refused says why Molar will never take it.
func (m molar) write(ctx context.Context, conversation, key string, body map[string]any) (refused string, err error) {
	err = m.do(ctx, http.MethodPost, "/v1/conversations/"+url.PathEscape(conversation)+"/messages", key, body, nil)
	switch f := failed(err); {
	case err == nil:
		return "", nil
	case f.status == http.StatusNotFound, f.Err.Code == "handover_closed":
		return "the hand-over is closed", nil
	case f.status == http.StatusBadRequest, f.status == http.StatusUnprocessableEntity:
		return "Molar refused the text; it may be too long", nil
	}
	return "", fmt.Errorf("write to a person: %w", err)
}

// inbox is an inbox of Chatwoot: its Client API speaks for the person, the Application API for the agent bot.
type inbox struct {
	caller
	account, id string
}

type conversation struct {
	ID       int64   `json:"id"`
	Status   string  `json:"status"`
	Messages []entry `json:"messages"`
}

type entry struct {
	ID      int64  `json:"id"`
	Content string `json:"content"`
	// Type is 0 for what the person says, 1 for what is said to them; others say what happened.
	Type       int  `json:"message_type"`
	Private    bool `json:"private"`
	Attributes struct {
		Deleted bool `json:"deleted"`
	} `json:"content_attributes"`
	Attachments []json.RawMessage `json:"attachments"`
	Sender      struct {
		Type          string `json:"type"`
		Name          string `json:"name"`
		AvailableName string `json:"available_name"`
	} `json:"sender"`
}

// byAgent reports whether a person at Chatwoot wrote it to the person: no automation, and not this bridge.
func (e entry) byAgent() bool {
	return e.Type == 1 && e.Sender.Type == "user" && !e.Private && !e.Attributes.Deleted
}

// author returns a name on one line, at most as long as Molar's audit takes.
func (e entry) author() string {
	name := []rune(strings.Join(strings.Fields(cmp.Or(e.Sender.AvailableName, e.Sender.Name)), " "))
	return string(name[:min(len(name), 100)])
}

// passed returns how many messages the bridge has written.
func (c conversation) passed() int {
	n := 0
	for _, e := range c.Messages {
		if e.Type == 0 || e.Type == 1 && e.Sender.Type == "agent_bot" && !e.Private {
			n++
		}
	}
	return n
}

func (b inbox) contacts() string {
	return "/public/api/v1/inboxes/" + url.PathEscape(b.id) + "/contacts"
}

func (b inbox) conversations(source string) string {
	return b.contacts() + "/" + url.PathEscape(source) + "/conversations"
}

// conversation returns the conversation of a hand-over, its messages in order.
func (b inbox) conversation(ctx context.Context, source string) (c conversation, ok bool, err error) {
	var all []conversation
	err = b.do(ctx, http.MethodGet, b.conversations(source), "", nil, &all)
	if failed(err).status == http.StatusNotFound || err == nil && len(all) == 0 {
		return c, false, nil
	}
	if err != nil {
		return c, false, fmt.Errorf("read a conversation of Chatwoot: %w", err)
	}
	c = slices.MinFunc(all, func(x, y conversation) int { return cmp.Compare(x.ID, y.ID) })
	slices.SortFunc(c.Messages, func(x, y entry) int { return cmp.Compare(x.ID, y.ID) })
	return c, true, nil
}

// begin begins the conversation of a hand-over. The contact has a name alone: by a number or an address that nobody
// has checked, Chatwoot would take the visitor for somebody else.
func (b inbox) begin(ctx context.Context, source string, h handover) (c conversation, err error) {
	var contact struct {
		Source string `json:"source_id"`
	}
	if err := b.do(ctx, http.MethodPost, b.contacts(), "", map[string]any{"source_id": source, "name": cmp.Or(h.Contact["name"], "Visitor")}, &contact); err != nil {
		return c, fmt.Errorf("make a contact in Chatwoot: %w", err)
	}
	if contact.Source != source {
		return c, errors.New("make a contact in Chatwoot: it has another source_id than was asked for, so it could not be found again")
	}
	if err := b.do(ctx, http.MethodPost, b.conversations(source), "", map[string]any{}, &c); err != nil {
		return c, fmt.Errorf("begin a conversation in Chatwoot: %w", err)
	}
	return c, nil
}

// said is a message for Chatwoot, of the visitor or of the bot.
type said struct {
	text    string
	visitor bool
}

func (b inbox) say(ctx context.Context, source string, id int64, s said) error {
	if !s.visitor {
		return b.bot(ctx, id, "messages", map[string]any{"content": s.text, "message_type": "outgoing"})
	}
	if err := b.do(ctx, http.MethodPost, fmt.Sprintf("%s/%d/messages", b.conversations(source), id), "", map[string]any{"content": s.text}, nil); err != nil {
		return fmt.Errorf("pass a message on to Chatwoot: %w", err)
	}
	return nil
}

// note writes what only agents see.
func (b inbox) note(ctx context.Context, id int64, text string) error {
	return b.bot(ctx, id, "messages", map[string]any{"content": text, "message_type": "outgoing", "private": true})
}

// bot acts on a conversation as the agent bot.
func (b inbox) bot(ctx context.Context, id int64, action string, body map[string]any) error {
	if err := b.do(ctx, http.MethodPost, fmt.Sprintf("/api/v1/accounts/%s/conversations/%d/%s", url.PathEscape(b.account), id, action), "", body, nil); err != nil {
		return fmt.Errorf("%s in Chatwoot: %w", action, err)
	}
	return nil
}
