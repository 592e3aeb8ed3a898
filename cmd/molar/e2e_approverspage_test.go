package main

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"molar/internal/testkit/models"
)

// A tab is a browser in which somebody has a page open.
type tab struct {
	t   *testing.T
	ctx context.Context //nolint:containedctx // chromedp keeps the browser in it
}

// openTab opens a browser whose requests have the headers.
func openTab(t *testing.T, headers map[string]string) tab {
	t.Helper()
	b := tab{t, chromiumTab(t)}
	b.do("begin", b.call("Network.enable", map[string]any{}), b.call("Network.setExtraHTTPHeaders", map[string]any{"headers": headers}), chromedp.EmulateViewport(1280, 900))
	return b
}

// call calls a method of the browser.
func (tab) call(method string, params map[string]any) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		var none struct{}
		return target.Call(ctx, method, params, &none)
	})
}

func (b tab) do(what string, actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	if err := chromedp.Do(b.ctx, actions...); err != nil {
		page, _ := chromedp.Run(b.ctx, chromedp.Evaluate[string](`location.href + " " + document.body.innerText`))
		b.t.Fatalf("%s: %v: %s", what, err, page)
	}
}

// sees waits until the conditions are true, one after the other.
func (b tab) sees(conditions ...string) {
	b.t.Helper()
	for _, c := range conditions {
		holds := func() bool {
			// A navigation ends a wait with an error, so this asks again.
			ok, err := chromedp.Run(b.ctx, chromedp.Evaluate[bool](`(() => { try { return Boolean(`+c+`); } catch { return false; } })()`))
			return err == nil && ok
		}
		for n := 0; !holds(); n++ {
			if n == 400 {
				b.do("wait for "+c, chromedp.Evaluate[chromedp.Void](`(() => { throw new Error("it never came") })()`))
			}
			time.Sleep(50 * time.Millisecond)
		}
	}
}

func (b tab) open(address string) {
	b.t.Helper()
	b.do("open "+address, chromedp.Navigate(address))
}

// say sends a message in the chat.
func (b tab) say(text string) {
	b.t.Helper()
	b.do("say "+text, chromedp.SendKeys("#question", text+"\r"))
}

// press focuses a button and presses it with the keyboard.
func (b tab) press(selector string) {
	b.t.Helper()
	b.do("press "+selector, chromedp.Evaluate[chromedp.Void](`document.querySelector("`+selector+`").focus()`), chromedp.KeyEvent("\r"))
}

const (
	onDesk = `document.querySelector("#approvals .approval h3").textContent === "bob asks: may this be done?"`
	noCard = `!document.querySelector("#approvals .approval")`
	said   = `document.querySelector("#approvals [role=status]").textContent`
)

// Somebody asks for what an approver must allow, and both see in their browsers what becomes of it: a
// yes, a no, a decision after the answer has ended, and one of another approver.
func TestApprovers_InTheBrowser(t *testing.T) {
	t.Parallel()
	bob := openTab(t, map[string]string{"X-Forwarded-User": "bob", "X-Forwarded-Groups": "staff"})
	lan := openTab(t, map[string]string{"X-Forwarded-User": "lan", "X-Forwarded-Groups": "staff,leads"})
	desk := newHelpDesk(t)
	s := serveHost(t, writeFile(t, "molar.yaml", "default: plain\nllm: {provider: ollama}\n"+approversConfig(desk, "")), startModel(t, models.Config{Script: resetsPasswords}))
	s.stdout.wait(t, "server: helpdesk ready", nil)
	lan.open(s.url + "/desk")
	lan.sees(`document.querySelector("#approvals .quiet").textContent === "No call waits for you."`, `document.title === "Desk · Molar"`)

	bob.open(s.url + "/")
	bob.say("Please reset the password of minh.tran")
	bob.sees(`document.querySelector(".approval h3").textContent === "Waiting for leads or heads"`, `!document.querySelector(".approval button")`,
		`document.querySelector(".call .time").textContent === "waits for leads or heads"`)
	lan.sees(onDesk, `document.title === "(1) Desk · Molar"`, `document.querySelector("#approvals .asked").textContent.startsWith("Reset password; account: minh.tran;")`,
		`document.querySelector("#approvals .approval").getAttribute("aria-label") === "bob asks: helpdesk · reset_password"`, `document.querySelector("#approvals pre").checkVisibility()`)
	if got := desk.done(); got != "" {
		t.Fatalf("reset before anybody said yes: %q", got)
	}
	lan.press("#approvals .primary")
	bob.sees(`document.querySelector(".assistant").textContent.includes("helpdesk · reset_password: approved by lan")`, `document.querySelectorAll(".assistant .actions").length === 1`)
	lan.sees(noCard, said+` === "You approved helpdesk · reset_password for bob."`, `document.activeElement.role === "status"`, `document.title === "Desk · Molar"`)

	bob.say("Please reset the password of ceo")
	lan.sees(onDesk)
	lan.press("#approvals .row button:nth-child(2)")
	lan.sees(noCard, said+` === "You refused helpdesk · reset_password for bob."`)
	bob.sees(`document.querySelectorAll(".assistant .actions").length === 2`, `document.querySelector(".log").textContent.includes("helpdesk · reset_password: refused by lan")`)

	const both = `((text) => text.includes("helpdesk · reset_password: approved by lan") && text.includes("helpdesk · reset_password: refused by lan"))(document.querySelector(".log").textContent)`
	bob.do("reload", chromedp.Reload())
	bob.sees(`document.querySelectorAll(".assistant.stored").length === 2`, both)

	// A client that cannot wait asked, and the page goes on with that conversation.
	if code, text := s.as(t, "bob", "staff", http.MethodPost, "/v1/chat/completions", questionBody("plain", "chat_late", "Reset the password of mai.le", false)); code != http.StatusOK {
		t.Fatal(code, text)
	}
	bob.open(s.url + "/#chat_late")
	bob.do("reload", chromedp.Reload())
	bob.sees(`document.querySelector(".assistant").textContent.includes("Waiting for the approval of: leads or heads.")`)
	bob.say("yes")
	const early = `[...document.querySelectorAll(".assistant")].at(-1).textContent.includes("Nobody in leads or heads has approved this yet")`
	bob.sees(early, `document.querySelectorAll(".assistant .actions").length === 2`, `!document.querySelector(".log").textContent.includes("not saved")`)
	bob.do("reload", chromedp.Reload())
	bob.sees(`document.querySelectorAll(".assistant.stored").length === 2`, early)
	lan.sees(onDesk)
	lan.press("#approvals .primary")
	lan.sees(noCard)
	bob.say("yes")
	bob.sees(`[...document.querySelectorAll(".assistant")].at(-1).textContent.includes("approved by lan")`)

	bob.say("Please reset the password of linh")
	lan.sees(onDesk)
	s.decides(t, "hoa", "heads", "refuse")
	lan.sees(noCard, said+`.startsWith("helpdesk · reset_password for bob waits no longer: somebody else decided")`)
	if got := desk.done(); got != "minh.tran mai.le" {
		t.Errorf("reset: %q", got)
	}
}
