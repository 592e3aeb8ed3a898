package chatwoot_test

import (
	"bytes"
	"context"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"molar/examples/chatwoot"
)

// A kit is a bridge between two fakes.
type kit struct {
	*testing.T
	chatwoot *fakeChatwoot
	molar    *fakeMolar
	hooks    string
	stop     func()
}

func newKit(t *testing.T) *kit {
	k := &kit{T: t, chatwoot: newFakeChatwoot(t), molar: newFakeMolar(t)}
	k.start()
	t.Cleanup(func() { k.stop() })
	return k
}

// start starts a process of the bridge that knows nothing yet, in place of the one before.
func (k *kit) start() {
	if k.stop != nil {
		k.stop()
	}
	b, err := chatwoot.New(chatwoot.Config{
		Molar: k.molar.URL, MolarKey: "review-key", MolarSecret: molarSecret, Chatwoot: k.chatwoot.URL + "/", Account: "3",
		Inbox: "inbox-1", BotToken: "bot-token", BotSecret: botSecret, Every: 20 * time.Millisecond,
	})
	if err != nil {
		k.Fatal(err)
	}
	hooks := httptest.NewServer(b)
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { b.Run(ctx) })
	k.hooks = hooks.URL
	k.hook(hooks.URL + "/chatwoot")
	k.stop = sync.OnceFunc(func() {
		k.hook("")
		k.chatwoot.events.Wait()
		cancel()
		running.Wait()
		hooks.Close()
	})
}

func (k *kit) hook(address string) {
	k.chatwoot.mu.Lock()
	defer k.chatwoot.mu.Unlock()
	k.chatwoot.hook = address
}

// tell posts an event of Molar until the bridge takes it, and returns how often.
func (k *kit) tell(kind string, more map[string]any) int {
	k.Helper()
	for n := 1; n < 50; n++ {
		if k.told(kind, more) == http.StatusNoContent {
			return n
		}
	}
	k.Fatalf("%s is never taken", kind)
	return 0
}

func (k *kit) told(kind string, more map[string]any) int {
	return send(k.T, fromMolar(k.hooks+"/molar", molarSecret, time.Now(), event(kind, more)))
}

// visitor stores what the visitor writes, and tells the bridge.
func (k *kit) visitor(text string, more ...map[string]any) {
	k.Helper()
	var turn string
	k.molar.locked(func() { turn = k.molar.say("visitor", text) })
	data := map[string]any{"turn_id": turn, "text": text}
	for _, m := range more {
		maps.Copy(data, m)
	}
	k.tell("handover.message", data)
}

// request brings a conversation of twelve messages to Chatwoot.
func (k *kit) request() {
	k.Helper()
	k.molar.locked(func() {
		for _, text := range []string{"one", "two", "three", "four", "five", "six"} {
			k.molar.say("visitor", text+"?")
			k.molar.say("assistant", text+"!")
		}
		k.molar.since = k.molar.began
	})
	k.tell("handover.requested", map[string]any{"reason": "words"})
}

// until waits for something.
func (k *kit) until(what string, ok func() bool) {
	k.Helper()
	tick, end := time.NewTicker(2*time.Millisecond), time.After(10*time.Second)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-end:
			k.Fatalf("%s: Chatwoot shows %q, the person %q", what, k.chatwoot.seen(), k.molar.desk())
		}
	}
}

func (k *kit) untilDesk(want ...string) {
	k.Helper()
	k.until(strings.Join(want, ", "), func() bool { return cmp.Equal(k.molar.desk(), want) })
}

// shown returns what Chatwoot shows of [kit.request] and more, with the status of the conversation.
func shown(status string, more ...string) []string {
	all := []string{
		"agent_bot: A visitor of the web site asks for somebody (words), and wrote:",
		"contact: two?", "agent_bot: two!", "contact: three?", "agent_bot: three!", "contact: four?", "agent_bot: four!",
		"contact: five?", "agent_bot: five!", "contact: six?", "agent_bot: six!",
	}
	return append(append(all, more...), status)
}

func (k *kit) want(what string, want ...string) {
	k.Helper()
	if d := cmp.Diff(want, k.chatwoot.seen()); d != "" {
		k.Errorf("%s (-want +got):\n%s", what, d)
	}
}

// A conversation goes there and back: each message once, and none back to where it came from.
func TestBridge(t *testing.T) {
	k := newKit(t)
	k.request()
	k.want("after the request", shown("open")...)
	headline := k.chatwoot.talks[0].messages[0]["content"].(string)
	for _, part := range []string{"name: Mai", "phone: 0901 234 567", k.molar.URL + "/desk#handovers/" + handoverID} {
		if !strings.Contains(headline, part) {
			t.Errorf("the first message does not say %q:\n%s", part, headline)
		}
	}
	k.visitor("are you there?")
	k.chatwoot.agent("Yes, this is Lan.")
	k.untilDesk("Yes, this is Lan.")
	k.visitor("I cannot breathe", map[string]any{"emergency": true})
	k.chatwoot.agent("Call 115 now.")
	k.untilDesk("Yes, this is Lan.", "Call 115 now.")
	k.want("in between", shown("openurgent", "contact: are you there?", "user: Yes, this is Lan.", "contact: I cannot breathe", "user: Call 115 now.")...)
	k.chatwoot.agent("Goodbye")
	k.chatwoot.resolve()
	k.until("closed", func() bool { k.molar.mu.Lock(); defer k.molar.mu.Unlock(); return k.molar.state == "closed" })
	k.tell("handover.closed", map[string]any{"by": "desk"})
	k.stop()
	if d := cmp.Diff([]string{"Yes, this is Lan.", "Call 115 now.", "Goodbye"}, k.molar.desk()); d != "" {
		t.Error(d)
	}
	if k.molar.writes != 4 {
		t.Errorf("Molar was written to %d times for three messages and an end", k.molar.writes)
	}
}

// Only what a person wrote to the person is passed on. Of what cannot be, the agents are told.
func TestBridge_OnlyAgents(t *testing.T) {
	set := func(key string, v any) func(map[string]any) { return func(m map[string]any) { m[key] = v } }
	k := newKit(t)
	k.request()
	k.chatwoot.agent("a private note", set("private", true))
	k.chatwoot.agent("an automation", func(m map[string]any) { delete(m, "sender") })
	k.chatwoot.agent("a model", set("sender", map[string]any{"type": "captain_assistant", "name": "Captain"}))
	k.chatwoot.agent("we are out of office", set("message_type", 3))
	k.chatwoot.agent("was assigned", set("message_type", 2))
	k.chatwoot.agent("This message was deleted", set("content_attributes", map[string]any{"deleted": true}))
	k.chatwoot.agent("with a file", set("attachments", []any{map[string]any{"id": 1, "data_url": "https://x.example/f"}}))
	k.chatwoot.agent("", set("content", nil), set("attachments", []any{map[string]any{"id": 2}}))
	k.chatwoot.agent(strings.Repeat("long", 30))
	k.chatwoot.agent("at last")
	k.untilDesk("with a file", "at last")
	k.stop()
	var notes []string
	for _, s := range k.chatwoot.seen() {
		if text, ok := strings.CutPrefix(s, "note: Not passed on: "); ok {
			notes = append(notes, text)
		}
	}
	want := []string{"the files; the text was.", "there is no text, and files are not passed on.", "Molar refused the text; it may be too long."}
	if d := cmp.Diff(want, notes); d != "" {
		t.Error(d)
	}
}

// Whichever request fails, before it is done or after, each message comes once and in order.
func TestBridge_Failures(t *testing.T) {
	for _, after := range []bool{false, true} {
		tries := 0
		for at := 1; ; at++ {
			k, n := newKit(t), 0
			k.chatwoot.mu.Lock()
			k.chatwoot.spoil = func(r *http.Request) (bool, bool) {
				if r.Method != http.MethodPost {
					return false, false
				}
				n++
				return n == at && !after, n == at && after
			}
			k.chatwoot.mu.Unlock()
			k.request()
			k.visitor("hello")
			k.visitor("hello")
			k.want("spoilt", shown("open", "contact: hello", "contact: hello")...)
			k.stop()
			k.chatwoot.mu.Lock()
			done := n < at
			k.chatwoot.mu.Unlock()
			if done {
				break
			}
			tries++
		}
		if tries < 15 {
			t.Errorf("only %d requests were spoilt", tries)
		}
	}
}

// What the bridge forgets when it ends, both sides know.
func TestBridge_Restart(t *testing.T) {
	k := newKit(t)
	k.request()
	k.chatwoot.agent("first")
	k.untilDesk("first")
	k.molar.locked(func() { k.molar.down = true })
	k.chatwoot.agent("second")
	k.stop()
	k.chatwoot.agent("third, which no webhook announced")
	k.start()
	k.molar.locked(func() { k.molar.down = false })
	k.untilDesk("first", "second", "third, which no webhook announced")
	k.visitor("thanks")
	k.stop()
	k.want("after all", shown("open", "user: first", "user: second", "user: third, which no webhook announced", "contact: thanks")...)
}

// Events of Molar come in any order, early, late and twice.
func TestBridge_Order(t *testing.T) {
	k := newKit(t)
	k.request()
	if got := k.told("handover.message", map[string]any{"turn_id": "turn-13"}); got != http.StatusServiceUnavailable {
		t.Errorf("%d for a message that is not stored yet", got)
	}
	k.molar.locked(func() {
		for _, text := range []string{"a", "b", "c"} {
			k.molar.say("visitor", text)
		}
	})
	for _, turn := range []string{"turn-15", "turn-13", "turn-14", "turn-13"} {
		k.tell("handover.message", map[string]any{"turn_id": turn})
	}
	k.tell("handover.requested", nil)
	k.stop()
	k.want("in order", shown("open", "contact: a", "contact: b", "contact: c")...)
}

// Once a hand-over is closed, the agents are told, and nothing of them is passed on.
func TestBridge_Closed(t *testing.T) {
	k := newKit(t)
	k.request()
	k.molar.locked(func() { k.molar.state = "closed" })
	k.tell("handover.closed", map[string]any{"by": "person"})
	k.tell("handover.closed", map[string]any{"by": "person"})
	k.chatwoot.agent("one more thing")
	told := shown("resolved", "note: The hand-over was closed (by: person). What is written here from now on does not reach the person.",
		"user: one more thing", "note: Not passed on: the hand-over is closed, and what is written here does not reach the person.")
	k.until("the note", func() bool { return cmp.Equal(k.chatwoot.seen(), told) })
	k.stop()
	k.want("and no more", told...)
	if len(k.molar.desk()) > 0 || k.molar.writes > 0 {
		t.Errorf("%q was passed on", k.molar.desk())
	}
}

// A request that was withdrawn or erased before anybody saw it does not come to Chatwoot.
func TestBridge_Withdrawn(t *testing.T) {
	for name, withdraw := range map[string]func(*fakeMolar){
		"closed": func(m *fakeMolar) { m.state = "closed" },
		"erased": func(m *fakeMolar) { m.gone = true },
	} {
		t.Run(name, func(t *testing.T) {
			k := newKit(t)
			k.molar.locked(func() { withdraw(k.molar) })
			k.tell("handover.requested", nil)
			k.tell("handover.closed", map[string]any{"by": "person"})
			k.want("nothing", "0 conversations")
		})
	}
}

// Nobody else can speak for either side.
func TestBridge_Signatures(t *testing.T) {
	k := newKit(t)
	k.request()
	now := time.Now()
	body := event("handover.closed", map[string]any{"by": "mallory"})
	changed := func(r *http.Request) *http.Request {
		other, _ := http.NewRequest(http.MethodPost, r.URL.String(), bytes.NewReader(append(body[:len(body)-1:len(body)-1], ' ', '}')))
		other.Header = r.Header
		return other
	}
	without := func(r *http.Request, header string) *http.Request {
		r.Header.Del(header)
		return r
	}
	molar, inbox := k.hooks+"/molar", k.hooks+"/chatwoot"
	for name, r := range map[string]*http.Request{
		"molar, another secret":    fromMolar(molar, "another secret", now, body),
		"molar, old":               fromMolar(molar, molarSecret, now.Add(-6*time.Minute), body),
		"molar, early":             fromMolar(molar, molarSecret, now.Add(6*time.Minute), body),
		"molar, changed":           changed(fromMolar(molar, molarSecret, now, body)),
		"molar, unsigned":          without(fromMolar(molar, molarSecret, now, body), "Webhook-Signature"),
		"molar, another id":        without(fromMolar(molar, molarSecret, now, body), "Webhook-Id"),
		"chatwoot, another secret": fromChatwoot(inbox, "another secret", now, body),
		"chatwoot, old":            fromChatwoot(inbox, botSecret, now.Add(-6*time.Minute), body),
		"chatwoot, changed":        changed(fromChatwoot(inbox, botSecret, now, body)),
		"chatwoot, unsigned":       without(fromChatwoot(inbox, botSecret, now, body), "X-Chatwoot-Signature"),
		"chatwoot, undated":        without(fromChatwoot(inbox, botSecret, now, body), "X-Chatwoot-Timestamp"),
		"of the other side":        fromChatwoot(molar, botSecret, now, body),
	} {
		if got := send(t, r); got != http.StatusUnauthorized {
			t.Errorf("%s: %d", name, got)
		}
	}
	k.want("as before", shown("open")...)
}

func TestNew(t *testing.T) {
	full := chatwoot.Config{Molar: "m", MolarKey: "k", MolarSecret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", Chatwoot: "c", Account: "1", Inbox: "i", BotToken: "t", BotSecret: "s"}
	if _, err := chatwoot.New(full); err != nil {
		t.Error(err)
	}
	for want, spoil := range map[string]func(*chatwoot.Config){
		"MolarKey is required":  func(c *chatwoot.Config) { c.MolarKey = "" },
		"BotSecret is required": func(c *chatwoot.Config) { c.BotSecret = "" },
		"want Base64":           func(c *chatwoot.Config) { c.MolarSecret = "whsec_!" },
	} {
		c := full
		spoil(&c)
		if _, err := chatwoot.New(c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
