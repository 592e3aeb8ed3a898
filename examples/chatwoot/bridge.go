// Package chatwoot is an example of a desk's inbox: it brings people who asked for somebody into an inbox of
// Chatwoot, and what agents answer there back to them. It stores nothing. Molar and Chatwoot know what was said;
// their webhooks only say when to look. So a message that was announced twice, too early, out of order or not at
// all is passed on once, and in order.
package chatwoot

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"
)

const (
	// told is how many messages from before a request are passed on.
	told = 10
	// maxBody bounds a webhook's body in bytes.
	maxBody = 1 << 20
	// separator stands between the ids of a conversation and a hand-over in the source_id of Chatwoot's contact.
	// Neither has it, and a path of Chatwoot may not have a dot.
	separator = "--"
)

// Config configures a [Bridge]. All but Client, Logger and Every is required.
type Config struct {
	// Molar is its address, MolarKey an API key with the scope review, MolarSecret what handover.secret is.
	Molar, MolarKey, MolarSecret string
	// Chatwoot is its address, Account the number of the account, Inbox the identifier of an inbox of the channel
	// API that only this bridge uses, BotToken and BotSecret what its agent bot has.
	Chatwoot, Account, Inbox, BotToken, BotSecret string
	// Every is how often Chatwoot is asked for answers that no webhook announced; zero means every 10 s.
	Every time.Duration
	// Client nil is one with a time limit of 10 s that follows no redirect.
	Client *http.Client
	Logger *slog.Logger
}

// A Bridge is a handler for the webhooks of both sides: POST /molar and POST /chatwoot. Its owner also calls Run.
// There must be one process of it for an inbox.
type Bridge struct {
	cfg      Config
	molar    molar
	chatwoot inbox
	mux      http.ServeMux
	// news are sources that have something new.
	news chan string
	// turn holds an item while something is passed on: what is there already is counted. It guards talks.
	turn  chan struct{}
	talks map[string]*talk
}

// A talk is what this process knows of a hand-over, by its source.
type talk struct {
	// passed is the last message of an agent that was passed on. It only saves requests: Molar takes each once.
	passed int64
	closed bool
}

// New returns a bridge.
func New(cfg Config) (*Bridge, error) {
	for _, need := range []struct{ name, value string }{
		{"Molar", cfg.Molar},
		{"MolarKey", cfg.MolarKey},
		{"MolarSecret", cfg.MolarSecret},
		{"Chatwoot", cfg.Chatwoot},
		{"Account", cfg.Account},
		{"Inbox", cfg.Inbox},
		{"BotToken", cfg.BotToken},
		{"BotSecret", cfg.BotSecret},
	} {
		if need.value == "" {
			return nil, fmt.Errorf("chatwoot: %s is required", need.name)
		}
	}
	key, err := webhookKey(cfg.MolarSecret)
	if err != nil {
		return nil, err
	}
	cfg.Every = cmp.Or(cfg.Every, 10*time.Second)
	if cfg.Client == nil {
		cfg.Client = &http.Client{Timeout: 10 * time.Second, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	b := &Bridge{
		cfg:      cfg,
		molar:    molar{caller{cfg.Client, strings.TrimRight(cfg.Molar, "/"), "Authorization", "Bearer " + cfg.MolarKey}},
		chatwoot: inbox{caller{cfg.Client, strings.TrimRight(cfg.Chatwoot, "/"), "api_access_token", cfg.BotToken}, cfg.Account, cfg.Inbox},
		news:     make(chan string, 256),
		turn:     make(chan struct{}, 1),
		talks:    map[string]*talk{},
	}
	b.mux.HandleFunc("POST /molar", func(w http.ResponseWriter, r *http.Request) {
		b.receive(w, r, func(body []byte) bool { return fromMolar(key, r.Header, body, time.Now()) }, b.fromMolar)
	})
	b.mux.HandleFunc("POST /chatwoot", func(w http.ResponseWriter, r *http.Request) {
		b.receive(w, r, func(body []byte) bool { return fromChatwoot(cfg.BotSecret, r.Header, body, time.Now()) }, b.fromChatwoot)
	})
	return b, nil
}

// ServeHTTP answers a webhook: 204 once its news need not be told again, else 401 or 503.
func (b *Bridge) ServeHTTP(w http.ResponseWriter, r *http.Request) { b.mux.ServeHTTP(w, r) }

func (b *Bridge) receive(w http.ResponseWriter, r *http.Request, signed func(body []byte) bool, take func(context.Context, []byte) error) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil || !signed(body) {
		http.Error(w, "the signature does not fit", http.StatusUnauthorized)
		return
	}
	if err := b.inTurn(r.Context(), func(ctx context.Context) error { return take(ctx, body) }); err != nil {
		b.cfg.Logger.Warn("an event cannot be passed on; its sender tries again", "path", r.URL.Path, "error", err)
		http.Error(w, "try again", http.StatusServiceUnavailable)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// inTurn does one thing after another.
func (b *Bridge) inTurn(ctx context.Context, do func(context.Context) error) error {
	select {
	case b.turn <- struct{}{}:
		defer func() { <-b.turn }()
		return do(ctx)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// talk returns what is known of a source. One that is unknown is closed: Run lists the open ones at its start, and
// Molar announces the others.
func (b *Bridge) talk(source string) *talk {
	if b.talks[source] == nil {
		b.talks[source] = &talk{closed: true}
	}
	return b.talks[source]
}

// An event is what Molar posts.
type event struct {
	Type string `json:"type"`
	Data struct {
		Handover     string `json:"handover_id"`
		Conversation string `json:"conversation_id"`
		Turn         string `json:"turn_id"`
		Emergency    bool   `json:"emergency"`
		By           string `json:"by"`
	} `json:"data"`
}

// fromMolar brings a conversation of Chatwoot up to date.
func (b *Bridge) fromMolar(ctx context.Context, body []byte) error {
	var e event
	if err := json.Unmarshal(body, &e); err != nil || e.Data.Handover == "" || e.Data.Conversation == "" {
		return errors.Join(errors.New("an event of Molar without its ids"), err)
	}
	source := e.Data.Conversation + separator + e.Data.Handover
	there, begun, err := b.chatwoot.conversation(ctx, source)
	if err != nil {
		return err
	}
	if e.Type == "handover.closed" {
		b.talk(source).closed = true
		if !begun || there.Status == "resolved" {
			return nil
		}
		return b.end(ctx, there.ID, e.Data.By)
	}
	h, thread, err := b.molar.thread(ctx, e.Data.Conversation)
	if errors.Is(err, errGone) || err == nil && (h.ID != e.Data.Handover || h.State == "closed" && !begun) {
		return nil // the person has erased it, or withdrew the request before anybody saw it
	}
	if err != nil {
		return err
	}
	if e.Data.Turn != "" && !slices.ContainsFunc(thread, func(m message) bool { return m.Turn == e.Data.Turn }) {
		return errors.New("the message is not stored yet")
	}
	if !begun {
		if there, err = b.chatwoot.begin(ctx, source, h); err != nil {
			return err
		}
	}
	b.talk(source).closed = h.State == "closed"
	want := wanted(b.cfg.Molar, h, thread)
	for _, s := range want[min(there.passed(), len(want)):] {
		if err := b.chatwoot.say(ctx, source, there.ID, s); err != nil {
			return err
		}
	}
	if e.Data.Emergency {
		if err := b.chatwoot.bot(ctx, there.ID, "toggle_priority", map[string]any{"priority": "urgent"}); err != nil {
			return err
		}
	}
	// A conversation of an inbox with a bot begins as pending, which agents do not look at, and so does a resolved
	// one after the next message.
	return b.chatwoot.bot(ctx, there.ID, "toggle_status", map[string]any{"status": "open"})
}

// end tells the agents that a hand-over is closed, and resolves its conversation.
func (b *Bridge) end(ctx context.Context, id int64, by string) error {
	if err := b.chatwoot.note(ctx, id, "The hand-over was closed (by: "+by+"). What is written here from now on does not reach the person."); err != nil {
		return err
	}
	return b.chatwoot.bot(ctx, id, "toggle_status", map[string]any{"status": "resolved"})
}

// wanted returns what the agents see, in order, and the same for the same thread: who asks, what was said last
// before, and what has been said since, without what they wrote themselves.
func wanted(molar string, h handover, thread []message) []said {
	var before, since []said
	for _, m := range thread {
		s := said{text: m.Text, visitor: m.By == "visitor"}
		switch {
		case !m.At.After(h.CreatedAt):
			if m.By == "desk" {
				s.text = "(desk) " + s.text
			}
			before = append(before, s)
		case m.By != "desk":
			since = append(since, s)
		}
	}
	return slices.Concat([]said{{text: h.headline(molar)}}, before[max(0, len(before)-told):], since)
}

// fromChatwoot notes that there may be an answer. What it is, Run reads from Chatwoot.
func (b *Bridge) fromChatwoot(_ context.Context, body []byte) error {
	type from struct {
		ContactInbox struct {
			Source string `json:"source_id"`
		} `json:"contact_inbox"`
	}
	var e struct {
		from
		Conversation from `json:"conversation"`
	}
	if err := json.Unmarshal(body, &e); err != nil {
		return fmt.Errorf("read an event of Chatwoot: %w", err)
	}
	if source := cmp.Or(e.Conversation.ContactInbox.Source, e.ContactInbox.Source); strings.Contains(source, separator) {
		select {
		case b.news <- source:
		default: // Run looks at all that is open anyway
		}
	}
	return nil
}

// Run passes answers on to Molar until ctx ends.
func (b *Bridge) Run(ctx context.Context) {
	tick := time.NewTicker(b.cfg.Every)
	defer tick.Stop()
	listed := false
	due := map[string]bool{}
	for {
		if !listed {
			if err := b.inTurn(ctx, b.list); err != nil {
				b.warn(ctx, "the hand-overs cannot be listed", err)
			} else {
				listed = true
			}
		}
		for source := range due {
			if err := b.inTurn(ctx, func(ctx context.Context) error { return b.pass(ctx, source) }); err != nil {
				b.warn(ctx, "answers of an agent cannot be passed on", err)
				continue
			}
			delete(due, source)
		}
		select {
		case source := <-b.news:
			due[source] = true
		case <-tick.C: // a webhook may have been lost
			_ = b.inTurn(ctx, func(context.Context) error {
				for source, t := range b.talks {
					due[source] = due[source] || !t.closed
				}
				return nil
			})
		case <-ctx.Done():
			return
		}
	}
}

func (b *Bridge) warn(ctx context.Context, what string, err error) {
	if ctx.Err() == nil {
		b.cfg.Logger.Warn(what+"; trying again", "error", err)
	}
}

// list finds the hand-overs that are open since before this process.
func (b *Bridge) list(ctx context.Context) error {
	open, err := b.molar.open(ctx)
	for _, h := range open {
		b.talk(h.Conversation + separator + h.ID).closed = false
	}
	return err
}

// pass passes on what agents have written in a conversation since.
func (b *Bridge) pass(ctx context.Context, source string) error {
	there, ok, err := b.chatwoot.conversation(ctx, source)
	if err != nil || !ok {
		return err
	}
	t := b.talk(source)
	conversation, _, _ := strings.Cut(source, separator)
	for _, m := range there.Messages {
		if !m.byAgent() || m.ID <= t.passed {
			continue
		}
		why := "the hand-over is closed, and what is written here does not reach the person"
		if !t.closed {
			why, err = b.write(ctx, conversation, m)
		}
		if err == nil && why != "" {
			err = b.chatwoot.note(ctx, there.ID, "Not passed on: "+why+".")
		}
		if err != nil {
			return err
		}
		t.passed = m.ID
	}
	if there.Status == "resolved" && !t.closed {
		if _, err := b.molar.write(ctx, conversation, "", map[string]any{"close": true}); err != nil {
			return err
		}
		t.closed = true
	}
	return nil
}

// write passes on a message of an agent, or returns why something of it never will be.
func (b *Bridge) write(ctx context.Context, conversation string, m entry) (why string, err error) {
	if m.Content == "" {
		return "there is no text, and files are not passed on", nil
	}
	key := fmt.Sprintf("chatwoot-%s-%d", b.cfg.Account, m.ID)
	why, err = b.molar.write(ctx, conversation, key, map[string]any{"text": m.Content, "author": m.author()})
	if err == nil && why == "" && len(m.Attachments) > 0 {
		why = "the files; the text was"
	}
	return why, err
}
