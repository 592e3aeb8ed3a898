package web_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"molar/agent"
	"molar/agent/answer"
	"molar/providers"
)

// A warning about the host stands in the bar, with what to do about it; one about an answer is a line
// below that answer.
func TestChatPage_Warnings(t *testing.T) {
	t.Parallel()
	host := newChatHost()
	cfg := host.config(t)
	cfg.Agent = script(func(ctx context.Context, turn agent.Turn, yield func(answer.Event) bool) error {
		return play(nil, start(), answer.Event{Kind: answer.KindWarning, Code: answer.CodeModelReplaced, Lasting: true, Text: "spare answers instead: main is down"},
			answer.Event{Kind: answer.KindWarning, Code: answer.CodeFileUnread, Text: "the file x.pdf is not read: it is damaged"}, text("Yes."), done())(ctx, turn, yield)
	})
	j := openPages(t, "en", cfg)
	j.host = host
	j.do(chromedp.Navigate(j.url + "/"))
	j.ask("well?")
	j.sees(idle, `document.querySelectorAll(".assistant :is(.remark, .note)").length === 1`, `document.querySelector(".remark").textContent === "the file x.pdf is not read: it is damaged"`,
		`document.getElementById("missing").textContent === "another model answers"`)
	j.do(chromedp.Click("#missing"))
	j.sees(`document.querySelector("#missing-why:popover-open").textContent.includes("main is down")`, `document.querySelector("#missing-why a").textContent === "Open the settings"`)
	j.shot("warnings")
}

// A problem is one sentence with the best next step; the server's words are folded.
func TestChatPage_Problems(t *testing.T) {
	t.Parallel()
	quota := &providers.Error{Provider: "ollama", Kind: providers.KindQuota, RetryAfter: 90 * time.Second, Err: errors.New("slow down")}
	for name, tt := range map[string]struct {
		err            error
		sentence, step string
	}{
		"a key that is refused": {&providers.Error{Provider: "ollama", Kind: providers.KindAuth, Err: errors.New("slow down")}, "service refused the key.", "Open the settings"},
		"a time to wait":        {quota, "; ask again at ", "Ask again"},
		"a long conversation":   {&providers.Error{Provider: "ollama", Kind: providers.KindContextLength, Err: errors.New("slow down")}, "too long for the model", "New conversation"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			host := newChatHost()
			cfg := host.config(t)
			cfg.Agent = script(func(ctx context.Context, turn agent.Turn, yield func(answer.Event) bool) error {
				yield(start())
				return tt.err
			})
			j := openPages(t, "en", cfg)
			j.host = host
			j.do(chromedp.Navigate(j.url + "/"))
			j.ask("well?")
			j.sees(idle, `document.querySelector(".note.bad p").textContent.includes(`+quoted(tt.sentence)+`)`,
				`document.querySelector(".note.bad .row > :is(a, button)").textContent === `+quoted(tt.step),
				`!document.querySelector(".note.bad details").open`, `document.querySelector(".note.bad .detail").textContent.includes("slow down")`)
			j.shot("problem")
		})
	}
}

// A slash offers no prompts of servers that the assistant may not use.
func TestChatPage_PromptsOfAssistant(t *testing.T) {
	t.Parallel()
	j := newJourney(t, "en", newChatHost())
	j.do(chromedp.Navigate(j.url+"/"), chromedp.SendKeys("#question", "/re"))
	j.sees(`document.querySelectorAll("#choices li").length === 2`)
	eval[any](j, `const m = document.getElementById("model"); m.value = "home"; m.dispatchEvent(new Event("change"))`)
	j.do(chromedp.SendKeys("#question", "p"))
	j.sees(`document.getElementById("choices").hidden`)
}

// A conversation is shared as a page without a complaint of the browser about this page's own policy.
func TestChatPage_SharesQuietly(t *testing.T) {
	t.Parallel()
	host := newChatHost()
	host.fill("k1", "Toothpaste", 2)
	j := newJourney(t, "en", host)
	var mu sync.Mutex
	var said []string
	if err := chromedp.Listen(j.ctx, func(ev any) {
		if fmt.Sprintf("%T", ev) != "*log.EventEntryAdded" {
			return
		}
		entry, _ := json.Marshal(ev)
		mu.Lock()
		defer mu.Unlock()
		said = append(said, string(entry))
	}); err != nil {
		t.Fatal(err)
	}
	j.do(chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		var none struct{}
		return target.Call(ctx, "Log.enable", map[string]any{}, &none)
	}))
	j.open("/")
	j.sees(`document.querySelector("#list li button")`)
	eval[any](j, `window.files = []; const made = URL.createObjectURL; URL.createObjectURL = (b) => { b.text().then((x) => files.push(x)); return made(b); };
		HTMLAnchorElement.prototype.click = function () {}; document.querySelector("#list li button").click()`)
	j.sees(`document.querySelector("#more:popover-open")`)
	eval[any](j, `[...document.querySelectorAll("#more button")].find((b) => b.textContent === "Share as a page").click()`)
	j.sees(`files[0].includes("<style>body{")`)
	mu.Lock()
	defer mu.Unlock()
	if len(said) > 0 {
		t.Errorf("the browser says %s", said)
	}
}
