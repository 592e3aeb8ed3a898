package web_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"molar/schemas"
)

// deskLooks are the looks of pictures of the desk: a phone, a tablet and a desk, light and dark.
func deskLooks() []look {
	return []look{{"360-light", 360, 780, "light"}, {"360-dark", 360, 780, "dark"}, {"768-light", 768, 900, "light"}, {"1280-light", 1280, 900, "light"}, {"1280-dark", 1280, 900, "dark"}}
}

// openDesk serves the pages with a fake API, and opens a browser.
func openDesk(t *testing.T, language string, api *deskAPI) *journey {
	t.Helper()
	cfg, _ := fullConfig(t, toolTurn())
	cfg.Logins = nil // as on a host without servers that each person calls as themselves
	ts := api.serve(t, cfg)
	return &journey{t: t, ctx: browser(t, language), url: ts.URL, server: ts}
}

// TestDeskPage_Look shows the desk and the page of one's own things in each state, size and language.
func TestDeskPage_Look(t *testing.T) {
	t.Parallel()
	axe := axeSource(t)
	type steps = []chromedp.Action[chromedp.Void]
	states := []state{
		{name: "desk", path: "/desk", steps: steps{until(`document.querySelectorAll("#rows a").length === 6`)}},
		{name: "desk-gaps", path: "/desk?view=gaps", steps: steps{until(`document.querySelectorAll("#rows h3").length === 3`)}},
		{name: "desk-turn", path: "/desk?turn=t-payroll", steps: steps{until(`document.querySelectorAll(".guide li.card").length === 3 && document.querySelectorAll("#rows a").length === 6`)}},
		{name: "desk-why", path: "/desk?turn=t-payroll", steps: steps{until(`document.querySelector(".guide")`), js(`document.querySelector(".asked-and-said > .fold:last-of-type").open = true`), until(`document.querySelector(".fall li")`)}},
		{name: "desk-done", path: "/desk?turn=t-payroll", steps: steps{
			until(`document.querySelector(".guide")`),
			js(`document.querySelector("#step-mark [value=down]").click(); document.querySelector("#step-mark form").requestSubmit()`),
			until(`document.querySelector("#step-mark .good")`),
			js(`document.querySelector("#step-test form").requestSubmit()`), until(`document.querySelector("#step-test .code")`),
			js(`document.getElementById("write-answer").value = "At the helpdesk."; document.querySelector("#step-write form").requestSubmit()`),
			until(`document.querySelector("#step-write .ask:not([hidden])")`),
		}},
		{name: "desk-refused", path: "/desk?turn=t-refused", steps: steps{until(`document.querySelector(".guide")`)}},
		{name: "turn-test", path: "/turn?id=t-payroll", steps: steps{
			until(`document.querySelector("#make-test .guide")`), js(`document.querySelector("#step-test form").requestSubmit()`), until(`document.querySelector("#step-test .code")`),
			js(`document.querySelector("#step-test .run").click()`), until(`document.querySelector("#step-test .outcome .bad")`),
			js(`document.querySelector("#make-test").scrollIntoView()`),
		}},
		{name: "account", path: "/account", steps: steps{until(`document.querySelectorAll("#sessions li").length === 2 && document.querySelector("#erase")`)}},
		{name: "desk-handovers", path: "/desk#handovers/handover_a", steps: steps{until(`document.querySelectorAll("#handovers .rows li").length === 2 && document.querySelectorAll(".thread > div").length === 3`)}},
		{name: "desk-approvals", path: "/desk", steps: steps{until(`document.querySelectorAll("#approvals .approval").length === 2 && document.title.startsWith("(2) ")`)}},
	}
	for _, language := range []string{"en", "vi"} {
		t.Run(language, func(t *testing.T) {
			t.Parallel()
			api := newDeskAPI()
			j := openDesk(t, language, api)
			for _, s := range states {
				if s.name == "desk-handovers" {
					api.mu.Lock()
					api.me = atDesk()
					api.mu.Unlock()
				}
				if s.name == "desk-approvals" {
					api.mu.Lock()
					api.me, api.approvals = strings.Replace(reviewer, `"approver":false`, `"approver":true`, 1), approvalsJSON
					api.mu.Unlock()
				}
				for i, l := range deskLooks() {
					name := fmt.Sprintf("%s-%s-%s", s.name, language, l.name)
					j.do(l.see())
					if i == 0 {
						j.do(append([]chromedp.Action[chromedp.Void]{chromedp.Navigate(j.url + s.path)}, s.steps...)...)
					}
					j.do(until(`document.documentElement.lang === "`+language+`"`), fitsWidth(name), shoot(t, name))
					judge(j.ctx, t, axe, name)
				}
			}
		})
	}
}

// Somebody marks an answer as wrong, makes a test of it and writes the right answer, with the keyboard
// alone. After each step the page says what happened and what comes next.
func TestDeskPage_PutsAnAnswerRight(t *testing.T) {
	t.Parallel()
	api := newDeskAPI()
	j := openDesk(t, "en", api)
	type to = chromedp.Action[chromedp.Void]
	press := func(key string) to { return chromedp.KeyEvent(key) }
	j.do(chromedp.Navigate(j.url + "/desk")) // in a window where the turn takes the place of the list
	j.sees(`document.querySelectorAll("#rows a").length === 6`)
	j.do(js(`document.querySelector("#rows a").focus()`), press(kb.Enter))
	j.sees(`location.search === "?turn=t-payroll"`, `document.activeElement.id === "turn-title"`, `document.querySelector(".told").textContent === "`+deskQuestion+`"`)
	j.do(js(`document.querySelector("#step-mark [value=down]").focus()`), press(" "), press(kb.Tab), press("the guide is on the intranet"), press(kb.Tab), press(kb.Enter))
	j.sees(`document.querySelector("#step-mark .out").textContent.startsWith("Marked as wrong.")`, `document.querySelector("#step-mark .out").textContent.includes("Next: make a test of it")`,
		`document.querySelector("#rows a .mark").textContent === "wrong"`)
	j.do(js(`document.querySelector("#step-test button").focus()`), press(kb.Enter))
	j.sees(`document.querySelector("#step-test .out").textContent.includes("The test “reset-the-password” is made.")`, `document.querySelector("#step-test .code").textContent === "molar eval run --live tests/desk"`)
	j.do(js(`document.getElementById("write-answer").focus()`), press("At the helpdesk, room 12."), press(kb.Tab), press("https://intranet.example/payroll"), press(kb.Tab), press(kb.Enter))
	j.sees(`document.querySelector("#step-write .out").textContent.includes("Saved. Who asks with these words gets this answer from now on.")`, `document.querySelector("#step-write .files").textContent === "knowledge/corrections/reset-the-password.md"`)
	j.sees(`document.querySelector("#step-write .ask").target === "_blank"`) // the desk stays; here the chat takes its place
	j.do(js(`const a = document.querySelector("#step-write .ask"); a.target = ""; a.focus()`), press(kb.Enter))
	j.do(until(`location.pathname === "/" && document.getElementById("question").value === "` + deskQuestion + `"`))
	want := []string{
		`POST /v1/turns/t-payroll/feedback {"mark":"down","note":"the guide is on the intranet"}`,
		`POST /v1/turns/t-payroll/test {}`,
		`POST /v1/turns/t-payroll/correction {"answer":"At the helpdesk, room 12.","question":"` + deskQuestion + `","sources":["https://intranet.example/payroll"]}`,
	}
	api.mu.Lock()
	defer api.mu.Unlock()
	if !slices.Equal(api.sent, want) {
		t.Errorf("sent %q", api.sent)
	}
}

// atDesk returns a reviewer who may answer people who ask for the desk.
func atDesk() string {
	return strings.Replace(reviewer, `"approver":false`, `"approver":false,"desk":true`, 1)
}

// Somebody at the desk opens who waits longest, answers and ends the conversation, with the keyboard alone. The
// address that the desk's inbox got opens the same conversation.
func TestDeskPage_AnswersAPerson(t *testing.T) {
	t.Parallel()
	api := newDeskAPI()
	api.me = atDesk()
	j := openDesk(t, "en", api)
	type to = chromedp.Action[chromedp.Void]
	press := func(key string) to { return chromedp.KeyEvent(key) }
	j.do(look{width: 360, height: 780, scheme: "light"}.see(), chromedp.Navigate(j.url+"/desk"))
	j.sees(`document.querySelector("#handovers-title").textContent.endsWith("(2)")`, `document.querySelector("#handovers .rows button").dataset.handover === "handover_a"`, `document.querySelector("#handovers .rows").textContent.includes("to be called back")`)
	j.do(js(`document.querySelector("#handovers .rows button").focus()`), press(kb.Enter))
	j.sees(`location.hash === "#handovers/handover_a"`, `document.querySelectorAll(".thread > div").length === 3`, `document.activeElement.id === "desk-answer"`,
		`document.querySelector("#handovers .facts").textContent.includes("0900 000 001")`, `document.querySelector("#handovers .rows [aria-current]")`)
	j.do(press("An implant costs 20 million."), press(kb.Tab), press(kb.Enter))
	j.sees(`document.querySelectorAll(".thread .desk").length === 1`, `document.querySelector(".thread > :last-child .told").textContent === "An implant costs 20 million."`, `document.getElementById("desk-answer").value === ""`,
		`document.activeElement.id === "desk-answer"`, `document.querySelector("#handovers article .badge").textContent === "answered"`, `document.querySelector("#said").textContent === "Sent."`)
	api.mu.Lock()
	api.thread = append(api.thread, schemas.DeskMessage{Seq: 99, By: schemas.ByVisitor, Text: "Thank you", At: created})
	api.mu.Unlock()
	j.sees(`document.querySelector(".thread > :last-child .told").textContent === "Thank you"`)
	j.do(press(kb.Tab), press(kb.Tab), press(kb.Enter)) // past Send
	j.sees(`document.querySelector("#handovers article .badge").textContent === "ended"`, `document.querySelector("#handovers form").hidden`, `document.querySelectorAll("#handovers .rows li").length === 1`, `document.activeElement.className === "thread"`)
	j.do(chromedp.Navigate("about:blank"), chromedp.Navigate(j.url+"/desk#handovers/handover_a"))
	j.sees(`document.querySelectorAll(".thread > div").length === 5`, `document.querySelector("#handovers form").hidden`)
	j.do(chromedp.Navigate("about:blank"), chromedp.Navigate(j.url+"/desk#handovers/handover_gone"))
	j.sees(`document.querySelector("#handovers .none").textContent.includes("not there any more")`)
	api.mu.Lock()
	defer api.mu.Unlock()
	if want := []string{
		`POST /v1/conversations/visit_a/messages {"text":"An implant costs 20 million."}`,
		`POST /v1/conversations/visit_a/messages {"close":true}`,
	}; !slices.Equal(api.sent, want) {
		t.Errorf("sent %q", api.sent)
	}
}

// The page of a turn's trace makes a test of it and runs it, with the keyboard alone, for those who review. It
// says before when that is impossible.
func TestTurnPage_MakesATest(t *testing.T) {
	t.Parallel()
	api := newDeskAPI()
	j := openDesk(t, "en", api)
	j.do(chromedp.EmulateViewport(360, 780), chromedp.Navigate(j.url+"/turn?id=t-payroll"))
	j.sees(`document.querySelector(".summary")`, `document.querySelectorAll("#make-test li.card").length === 1`)
	j.do(js(`document.querySelector("#step-test form button").focus()`), chromedp.KeyEvent(kb.Enter))
	j.sees(`document.querySelector("#step-test .out").textContent.includes("The test “reset-the-password” is made.")`, `document.querySelector("#step-test .code").textContent === "molar eval run --live tests/desk"`,
		`document.querySelector("#step-test .files").textContent === "tests/desk/cases.yamltests/desk/tapes/t-payroll.jsonl"`, `document.activeElement === document.querySelector("#step-test form button")`)
	j.do(chromedp.KeyEvent(kb.Tab), chromedp.KeyEvent(kb.Tab), chromedp.KeyEvent(kb.Tab)) // past what they are, and the command
	j.sees(`document.activeElement === document.querySelector("#step-test .run")`)
	j.do(chromedp.KeyEvent(kb.Enter))
	j.sees(`document.querySelector("#step-test .outcome .bad").textContent.startsWith("Red")`, `document.querySelector("#make-test a").getAttribute("href") === "/desk?turn=t-payroll"`, `document.querySelector("#said").textContent.includes("Red")`)

	j.do(chromedp.Navigate(j.url + "/turn?id=t-refused"))
	j.sees(`document.querySelector("#step-test .warn").textContent.startsWith("The text of this question is not kept")`)
	j.do(chromedp.Navigate(j.url + "/turn?id=t-untraced"))
	j.sees(`document.querySelector("#step-test .warn").textContent.startsWith("No test can be made")`, `getComputedStyle(document.querySelector("#step-test form button")).display === "none"`)

	api.mu.Lock()
	api.me = strings.Replace(reviewer, `"chat","review"`, `"chat"`, 1)
	api.sent = nil
	api.mu.Unlock()
	j.do(chromedp.Navigate(j.url + "/turn?id=t-payroll"))
	j.sees(`document.querySelector(".summary")`, `document.querySelector("#sign-out:not([hidden])")`, `!document.querySelector(".guide")`)
}

// Whoever comes back finds their work: the mark with its note, the test, which can be run at once, and the
// written answer. A new result replaces the old one in all steps, in the list and at the head of the turn.
func TestDeskPage_KeepsTheWork(t *testing.T) {
	t.Parallel()
	api := newDeskAPI()
	j := openDesk(t, "en", api)
	open := func() {
		t.Helper()
		j.do(chromedp.Navigate(j.url + "/desk?turn=t-payroll"))
		j.sees(`document.querySelector(".guide")`, `document.querySelectorAll("#rows a").length === 6`)
	}
	submit := func(step, sees string) {
		t.Helper()
		eval[any](j, `document.querySelector("#step-`+step+` form").requestSubmit()`)
		j.sees(`document.querySelector("#step-` + step + ` .out").textContent.includes("` + sees + `")`)
	}
	open()
	submit("test", "This answer is not marked")
	eval[any](j, `document.querySelector("#step-mark [value=up]").click(); document.getElementById("mark-note").value = "there is a guide"`)
	submit("mark", "Marked as right.")
	j.sees(`!document.body.textContent.includes("This answer is not marked")`, `document.querySelector("#step-test .warn").textContent === "It was made before the mark. Make it again."`,
		`document.querySelector(".asked-and-said .mark").textContent === "righttest"`)
	eval[any](j, `document.querySelector("#step-mark [value=down]").click()`)
	submit("mark", "Marked as wrong.")
	submit("test", "is made.")
	j.sees(`!document.querySelector("#step-test .warn")`, `!document.querySelector("#step-mark .next")`)
	eval[any](j, `document.querySelector("#step-test .run").click()`)
	j.sees(`document.querySelector("#step-test .note.bad").textContent.startsWith("Red")`, `document.querySelector("#step-test li li, #step-test .outcome").textContent.includes("The outcome is as before: no source found.")`)
	j.sees(`document.querySelector("#step-test .next").textContent.startsWith("Next: write the right answer")`)

	open() // again
	j.sees(`document.querySelector("#step-mark.finished .good").textContent.startsWith("Marked as wrong.")`, `document.getElementById("mark-note").value === "there is a guide"`, `!document.querySelector("blockquote")`,
		`document.querySelector("#step-test.finished .files").textContent === "tests/desk/cases.yaml"`, `document.querySelector('#rows a[aria-current] .mark').textContent === "wrongtest"`)
	eval[any](j, `document.querySelector("#step-test .run").click()`)
	j.sees(`document.querySelector("#step-test .note.bad")`)
	eval[any](j, `document.getElementById("write-answer").value = "At the helpdesk, room 12."`)
	submit("write", "Saved.")
	j.sees(`!document.querySelector("#step-test .note.bad")`, `document.querySelector("#step-write .next").textContent.startsWith("Next: run the test")`, `document.querySelector("#rows a[aria-current] .mark").textContent === "wrongput right"`)
	eval[any](j, `document.querySelector("#step-write .run").click()`)
	j.sees(`document.querySelector("#step-write .outcome").textContent.includes("Green: the test passes.The assistant found the written answer, and no longer answers as before.")`,
		`document.querySelector("#step-write .next").textContent === "Next: ask the question yourself."`)

	api.mu.Lock()
	api.own = true // as for whoever runs a host without keys
	api.mu.Unlock()
	open() // and again
	j.sees(`document.getElementById("write-answer").value === "At the helpdesk, room 12."`, `document.querySelector("#step-write.finished .files").textContent === "knowledge/corrections/reset-the-password.md"`,
		`document.querySelectorAll(".guide .run:not([hidden])").length === 2`, `document.querySelectorAll(".guide .finished").length === 3`)
}

// On a phone, where a turn takes the place of the list, the way back ends at the row from which one came.
func TestDeskPage_BackToTheRow(t *testing.T) {
	t.Parallel()
	j := openDesk(t, "en", newDeskAPI())
	const atRow = `document.activeElement.dataset.turn === "t-payroll" && document.activeElement.getBoundingClientRect().top > 0 && document.activeElement.getBoundingClientRect().bottom < innerHeight`
	for _, back := range []string{`document.querySelector(".back").click()`, `history.back()`} {
		j.do(chromedp.EmulateViewport(360, 300), chromedp.Navigate(j.url+"/desk"))
		j.sees(`document.querySelectorAll("#rows a").length === 6`)
		j.do(js(`document.querySelector("#rows ul").append(document.querySelector("#rows li")); document.querySelector('#rows a[data-turn="t-payroll"]').click()`)) // now the last row
		j.sees(`document.querySelector(".guide")`)
		j.do(js(back))
		j.sees(atRow)
	}
	j.do(chromedp.EmulateViewport(1280, 500), chromedp.Navigate(j.url+"/desk"))
	j.sees(`document.querySelectorAll("#rows a").length === 6`)
	j.do(js(`document.querySelector("#rows ul").append(document.querySelector("#rows li")); document.querySelector('#rows a[data-turn="t-payroll"]').click()`))
	j.sees(`document.querySelector(".guide")`, `(() => { const at = document.querySelector("#rows [aria-current]").getBoundingClientRect(); return at.top > 0 && at.bottom <= innerHeight; })()`)
}

// What is missing is said as a sentence: the traffic of a turn that is not kept, a folder for
// corrections, a budget that is used up, a store that is down.
func TestDeskPage_SaysWhatIsMissing(t *testing.T) {
	t.Parallel()
	api := newDeskAPI()
	api.wires, api.folder, api.spent = false, false, true
	j := openDesk(t, "en", api)
	j.do(chromedp.Navigate(j.url + "/desk?turn=t-payroll"))
	j.sees(`document.querySelector(".guide")`)
	eval[any](j, `document.querySelector("#step-test form").requestSubmit()`)
	j.sees(`document.querySelector("#step-test .bad").textContent === "it has no trace: none was written, or it is no longer kept"`)
	api.mu.Lock()
	api.wires, api.tests = true, false
	api.mu.Unlock()
	eval[any](j, `document.querySelector("#step-test form").requestSubmit()`)
	j.sees(`document.querySelector("#step-test .files button").textContent === "Download reset-the-password.yaml"`, `document.querySelector("#step-test .code").textContent === "molar eval run --live ."`)
	eval[any](j, `document.querySelector("#step-test .run").click()`)
	j.sees(`document.querySelector("#step-test .out:last-child .warn").textContent.includes("The budget for models is used up.")`,
		`document.querySelector("#step-test .out:last-child").textContent.includes("it begins anew on 2 March 00:00 UTC")`, `!document.querySelector("#step-test").textContent.includes("Red")`)
	eval[any](j, `document.getElementById("write-answer").value = "x"; document.querySelector("#step-write form").requestSubmit()`)
	j.sees(`document.querySelector("#step-write .warn").textContent.includes("corrections: true")`, `document.querySelector("#step-write .code").textContent.startsWith("# How do I")`)
	j.do(chromedp.Navigate(j.url + "/desk?turn=t-gone"))
	j.sees(`document.querySelector("#turn [role=alert]").textContent === "Nothing is stored of this turn any more. Choose another one."`)
	api.mu.Lock()
	api.refused = "/v1/turns"
	api.mu.Unlock()
	j.do(chromedp.Navigate(j.url + "/desk"))
	j.sees(`document.querySelector("#rows [role=alert] button")`)
	api.mu.Lock()
	api.refused = ""
	api.mu.Unlock()
	j.do(chromedp.Click("#rows [role=alert] button"))
	j.sees(`document.querySelectorAll("#rows a").length === 6`)
}

// The address holds the filters and the turn, so that it can be sent and the browser's buttons work.
func TestDeskPage_Address(t *testing.T) {
	t.Parallel()
	api := newDeskAPI()
	j := openDesk(t, "vi", api)
	j.do(chromedp.EmulateViewport(1280, 900), chromedp.Navigate(j.url+"/desk"))
	j.sees(`document.querySelectorAll("#rows a").length === 6`)
	eval[any](j, `[...document.querySelectorAll("#rows button")].find((b) => b.textContent === "Các lượt cũ hơn").click()`)
	j.sees(`document.querySelectorAll("#rows a").length === 7`, `document.activeElement.dataset.turn === "t-older"`)
	eval[any](j, `const o = document.getElementById("outcome"); o.value = "failed"; o.dispatchEvent(new Event("change"))`)
	j.sees(`location.search === "?outcome=failed"`, `document.querySelectorAll("#rows a").length === 1`, `document.activeElement.id === "outcome"`)
	eval[any](j, `history.back()`)
	j.sees(`location.search === "" && document.querySelectorAll("#rows a").length === 6 && document.getElementById("outcome").value === ""`)
	j.do(chromedp.Navigate(j.url + "/desk?outcome=refused&marked=bad&since=7d&assistant=dental&turn=t-refused"))
	j.sees(`document.querySelectorAll("#rows a[aria-current]").length === 1`, `["outcome", "marked", "since", "assistant"].map((id) => document.getElementById(id).value).join() === "refused,bad,7d,dental"`)
	j.do(chromedp.Click(`.views a[data-view="gaps"]`))
	j.sees(`location.search === "?view=gaps"`, `document.querySelector("#rows h3").textContent === "`+deskQuestion+`"`, `document.getElementById("outcome").closest(".field").hidden`)
	j.do(chromedp.Click(`#rows h3 a`))
	j.sees(`location.search.includes("turn=t-payroll")`, `document.querySelector(".guide")`)
	api.mu.Lock()
	defer api.mu.Unlock()
	for _, part := range []string{"since=30d", "outcome=failed", "after=next-page", "marked=bad"} {
		if !slices.ContainsFunc(api.asked, func(q string) bool { return strings.Contains(q, part) }) {
			t.Errorf("the list was never asked with %s: %q", part, api.asked)
		}
	}
}

// People see only the links that are theirs, and without the scope review nothing of the desk.
func TestPages_LinksOfAPerson(t *testing.T) {
	t.Parallel()
	const links = `[...document.querySelectorAll("nav a[data-scope]:not([hidden])")].map((a) => a.pathname).join()`
	for _, tt := range []struct{ name, me, want string }{
		{"a person", `{"id":"p1","person":true,"scopes":["chat"]}`, "/account"},
		{"an approver", `{"id":"p1","person":true,"scopes":["chat"],"approver":true}`, "/desk,/account"},
		{"a reviewer", reviewer, "/desk,/account"},
		{"an administrator", `{"id":"k1","scopes":["chat","admin","review"]}`, "/desk,/tools,/config,/account"},
		{"the owner of a machine", `{"id":"","scopes":["chat","admin","review","metrics"]}`, "/desk,/tools,/config"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			api := newDeskAPI()
			api.me = tt.me
			j := openDesk(t, "en", api)
			for _, path := range []string{"/", "/account"} {
				j.do(look{width: 320, height: 700, scheme: "light"}.see(), chromedp.Navigate(j.url+path))
				j.sees(links + ` === "` + tt.want + `"`)
				j.do(js(`document.getElementById("menu")?.click()`), fitsWidth(path))
				j.shot(strings.Trim("links-"+path[1:], "-"))
			}
		})
	}
}

// Without the scope review the desk says so, and asks for nothing.
func TestDeskPage_ForReviewersOnly(t *testing.T) {
	t.Parallel()
	api := newDeskAPI()
	api.me = `{"id":"p1","person":true,"scopes":["chat"]}`
	j := openDesk(t, "en", api)
	j.do(chromedp.Navigate(j.url + "/desk"))
	j.sees(`document.querySelector("#main > .note").textContent.includes("You may not read the turns of others.")`, `document.getElementById("review").hidden`)
	api.mu.Lock()
	defer api.mu.Unlock()
	if len(api.asked) > 0 {
		t.Errorf("the list was asked: %q", api.asked)
	}
}

// The button to sign out is there for a session, and ends it.
func TestPages_SignOut(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"/", "/desk"} {
		api := newDeskAPI()
		j := openDesk(t, "en", api)
		j.do(chromedp.EmulateViewport(1280, 900), chromedp.Navigate(j.url+path))
		j.sees(`!document.getElementById("sign-out").hidden`)
		j.do(js(`document.getElementById("sign-out").click()`), until(`location.pathname === "/login"`))
		api.mu.Lock()
		if !slices.Equal(api.sent, []string{"POST /logout null"}) {
			t.Errorf("sent %q", api.sent)
		}
		api.me = strings.Replace(reviewer, `"session":true`, `"session":false`, 1)
		api.mu.Unlock()
		j.do(chromedp.Navigate(j.url + path))
		j.sees(`document.querySelector('a[href="/account"]:not([hidden])')`, `document.getElementById("sign-out").hidden`)
	}
}
