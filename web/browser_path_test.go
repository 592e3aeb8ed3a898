package web_test

import (
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"molar/schemas"
)

// ownServer is a host whose server can be attached during the test.
type ownServer struct {
	*chatHost
	attached bool
}

func (o *ownServer) Status() []schemas.ServerStatus {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.attached {
		return nil
	}
	return []schemas.ServerStatus{{Name: "notes", State: schemas.StateReady, Tools: 1, Since: created}}
}

// A person attaches a server, asks, corrects the arguments of a call and approves it, corrects the
// question, and exports the conversation. The log has the time that the page took.
func TestPages_APersonsPath(t *testing.T) {
	t.Parallel()
	host := &ownServer{chatHost: newChatHost()}
	cfg := host.config(t)
	cfg.Servers, cfg.Operations = host, operated(t, play(nil)).Operations
	j := openPages(t, "en", cfg)
	j.host = host.chatHost
	began := time.Now()
	j.do(chromedp.EmulateViewport(1280, 900), chromedp.Navigate(j.url+"/tools"), chromedp.WaitVisible("#pasted"))
	eval[any](j, `document.getElementById("pasted").value = '{"mcpServers": {"notes": {"command": "npx"}}}'; document.getElementById("attach").requestSubmit()`)
	j.sees(`document.querySelector("#attaching .code")`)
	j.shot("1-block")
	host.mu.Lock()
	host.attached, host.file.Offer = true, "home" // the person has saved the file
	host.mu.Unlock()
	j.sees(`document.querySelector("#attaching .primary")`)
	j.shot("2-attached")
	j.do(chromedp.Click("#attaching .primary"))
	j.do(until(`document.getElementById("who").textContent === "home"`)) // the assistant that may call it
	j.do(chromedp.SendKeys("#question", "pay the dentist"+kb.Enter))
	j.sees(`document.querySelector(".approval textarea")`, `document.querySelector(".call .time").textContent === "waits for you"`)
	j.shot("3-asks")
	eval[any](j, `document.querySelector(".approval textarea").value = '{"q":"40 euros"}'`)
	j.do(chromedp.Click(".approval .primary"))
	j.sees(idle, `document.querySelector(".prose").textContent.includes("40 euros")`, `document.querySelector(".call pre").textContent.includes("40 euros")`)
	eval[any](j, press("pay the dentist", "Edit"))
	eval[any](j, `document.getElementById("question").value = "only look first"`)
	j.do(chromedp.SendKeys("#question", kb.Enter))
	j.sees(idle, read+` === "only look first 2/2"`)
	j.shot("4-corrected")
	eval[any](j, `window.files = []; const made = URL.createObjectURL; URL.createObjectURL = (b) => { b.text().then((x) => files.push(x)); return made(b); };
		HTMLAnchorElement.prototype.click = function () { files.push(this.download); }; document.querySelector("#list button").click()`)
	j.sees(`document.querySelector("#more:popover-open")`)
	j.do(chromedp.Click("#more button:nth-of-type(5)"))
	j.sees(`files.length === 2`)
	if got := eval[string](j, `files.join("|")`); !strings.Contains(got, "only look first") || !strings.Contains(got, "pay the dentist") {
		t.Errorf("the file is %.300s", got)
	}
	t.Logf("the path took %s", time.Since(began).Round(100*time.Millisecond))
}
