package web_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"molar/schemas"
)

// give is a script that gives files to the page in three ways: chosen, dropped and pasted.
const give = `(() => {
	const bytes = Uint8Array.from(atob("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="), (c) => c.charCodeAt(0));
	const held = (...files) => { const d = new DataTransfer(); for (const f of files) d.items.add(f); return d; };
	const picture = new File([bytes], "x-ray.png", { type: "image/png" });
	const note = new File(["Tooth 36 hurts."], '"><img src=x onerror=pwn()>.txt', { type: "text/plain" });
	const input = document.getElementById("files");
	input.files = held(picture).files;
	input.dispatchEvent(new Event("change"));
	document.querySelector(".stage").dispatchEvent(new DragEvent("drop", { dataTransfer: held(note), bubbles: true, cancelable: true }));
	document.getElementById("question").dispatchEvent(new ClipboardEvent("paste", { clipboardData: held(new File([bytes], "pasted.png", { type: "image/png" })), bubbles: true, cancelable: true }));
})()`

// Files are sent with a question, are shown with it, and can be removed before; a question that
// fails returns them to the box.
func TestChatPage_Files(t *testing.T) {
	t.Parallel()
	j := newJourney(t, "en", newChatHost())
	j.do(chromedp.EmulateViewport(1000, 900), chromedp.Navigate(j.url+"/"))
	eval[any](j, give)
	j.sees(`document.querySelectorAll("#attached li").length === 3`, `document.querySelectorAll("#attached img").length === 2`)
	j.shot("attached")
	eval[any](j, `document.querySelector("#attached button[aria-label=\"Leave out pasted.png\"]").click()`)
	j.ask("fail with these")
	j.sees(idle, `document.querySelectorAll("#attached li").length === 2`, `document.getElementById("question").value === "fail with these"`)
	eval[any](j, `document.getElementById("question").value = ""`)
	j.ask("What do you see?")
	j.sees(idle, `[...document.querySelectorAll(".user")].at(-1).querySelector(".sent img")`, `document.querySelectorAll("#attached li").length === 0`)
	j.shot("sent")
	turn := j.host.turns[1]
	last := turn.Messages[len(turn.Messages)-1]
	var pictures int
	for _, p := range last.Parts {
		if p.Kind == schemas.PartImage && strings.HasPrefix(p.Text, "data:image/png;base64,iVBOR") {
			pictures++
		}
	}
	if pictures != 1 || len(turn.Attachments) != 1 || turn.Attachments[0].Text != "Tooth 36 hurts." || !strings.HasSuffix(turn.Attachments[0].Name, ".txt") {
		t.Errorf("the turn has %d pictures and the texts %+v", pictures, turn.Attachments)
	}
}

// Stored files are shown when the conversation is opened again, and can be sent with another
// question, including another version of their own question.
func TestChatPage_KeptFiles(t *testing.T) {
	t.Parallel()
	j := newJourney(t, "en", newChatHost())
	j.do(chromedp.EmulateViewport(1000, 900), chromedp.Navigate(j.url+"/"))
	eval[any](j, give)
	j.sees(`document.querySelectorAll("#attached li").length === 3`)
	eval[any](j, `document.querySelector("#attached button[aria-label=\"Leave out pasted.png\"]").click()`)
	j.ask("What do you see?")
	j.sees(idle)
	j.do(chromedp.Reload())
	j.sees(idle, `[...document.querySelectorAll(".sent img")].some((i) => i.naturalWidth > 0 && i.alt === "x-ray.png")`)
	j.shot("kept")
	eval[any](j, `[...document.querySelectorAll(".user .actions button")].find((b) => b.ariaLabel === "Use the files again").click()`)
	j.sees(`document.querySelectorAll("#attached img").length === 1`)
	j.ask("Look again")
	j.sees(idle, `document.querySelectorAll(".sent img").length === 2`)
	eval[any](j, `[...document.querySelectorAll(".assistant .actions button")].filter((b) => b.ariaLabel === "Ask again")[0].click()`)
	j.sees(idle, `document.querySelectorAll(".user:not([hidden]) .sent img").length === 1`)
	j.sharesAPage()
	for i, turn := range j.host.turns {
		last := turn.Messages[len(turn.Messages)-1]
		if !slices.ContainsFunc(last.Parts, func(p schemas.Part) bool {
			return p.Name == "x-ray.png" && strings.HasPrefix(p.Text, "data:image/png;base64,iVBOR")
		}) {
			t.Errorf("turn %d has no picture: %.200v", i, last.Parts)
		}
	}
}

// sharesAPage exports the conversation as a page, and checks that the page contains the picture and
// neither runs nor loads anything.
func (j *journey) sharesAPage() {
	j.t.Helper()
	eval[any](j, `window.files = []; const made = URL.createObjectURL; URL.createObjectURL = (b) => { b.text().then((x) => files.push(x)); return made(b); };
		HTMLAnchorElement.prototype.click = function () {}; document.querySelector("#list button").click()`)
	j.sees(`document.querySelector("#more:popover-open")`)
	j.do(chromedp.Click("#more button:nth-of-type(3)"))
	j.sees(`files.length === 1`)
	page := eval[string](j, `files[0]`)
	for _, want := range []string{`http-equiv="Content-Security-Policy" content="default-src 'none'; `, `<img src="data:image/png;base64,iVBOR`, "Look again", "<h1>", `<meta charset="utf-8">`} {
		if !strings.Contains(page, want) {
			j.t.Errorf("the page lacks %q:\n%.3000s", want, page)
		}
	}
	if runs := regexp.MustCompile(`(?i)<(script|iframe|link|object|embed|form|button)|<[^>]* on\w+=|<[^>]* src="[^d]`).FindString(page); runs != "" {
		j.t.Errorf("the page has %q:\n%.3000s", runs, page)
	}
}

// The pasted text is converted to a text for the config file, and its servers are shown when that
// is saved.
func TestToolsPage_Attach(t *testing.T) {
	t.Parallel()
	cfg, store := fullConfig(t, toolTurn())
	j := openPages(t, "en", cfg)
	j.do(chromedp.EmulateViewport(1280, 1400), chromedp.Navigate(j.url+"/tools"))
	j.sees(`document.querySelectorAll(".tool").length === 4`)
	eval[any](j, `document.getElementById("pasted").value = '{"mcpServers": {"notes": {"command": "npx"}}}'; document.getElementById("attach").requestSubmit()`)
	j.sees(`document.querySelector("#attaching .code")`)
	if got := eval[string](j, `document.getElementById("attaching").textContent`); !strings.Contains(got, "NOTES_TOKEN") || !strings.Contains(got, "Add this to the end of /etc/molar/molar.yaml, and save it.") {
		t.Errorf("the page says %q", got)
	}
	j.shot("block")
	store.mu.Lock()
	store.servers = append(store.servers, schemas.ServerStatus{Name: "notes", State: schemas.StateReady, Tools: 1, Since: created})
	store.tools = append(store.tools, schemas.Tool{ToolInfo: schemas.ToolInfo{Name: "notes__read_note", Server: "notes", ToolName: "read_note", InputSchema: []byte(`{}`)}})
	store.mu.Unlock()
	j.sees(`document.querySelector(".brought li")`, `document.querySelectorAll(".tool").length === 5`)
	j.shot("attached")
	if got := eval[string](j, `document.querySelector(".brought li").textContent`); got != "read_note reads it announces itself as read-only Try it" {
		t.Errorf("the page says %q", got)
	}
}
