package web_test

import (
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/google/go-cmp/cmp"

	"molar/schemas"
)

// read is a script that returns the questions on the page, each with its version number.
const read = `[...document.querySelectorAll(".user:not([hidden])")].map((m) => m.querySelector(".text").textContent +
	(m.querySelector(".versions") ? " " + m.querySelector(".versions span").textContent : "")).join(", ")`

// press returns a script that clicks a button of a question by its label.
func press(question, label string) string {
	return `[...document.querySelectorAll(".user:not([hidden])")].find((m) => m.querySelector(".text").textContent === "` + question + `")
		.querySelectorAll(".actions button").forEach((b) => { if (b.ariaLabel === "` + label + `") b.click(); })`
}

// parents returns the parents that the turns named, "newest" for a turn that named none.
func (h *chatHost) parents() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	var all []string
	number := map[string]string{"": "begin"}
	for _, t := range h.turns {
		number[t.ID], _ = t.Question()
		parent := "newest"
		if t.Parent != nil {
			parent = number[*t.Parent]
		}
		all = append(all, parent)
	}
	return all
}

// The first of three questions is edited: both versions stay, each with the messages that follow
// it, and each can be continued.
func TestChatPage_Branches(t *testing.T) {
	t.Parallel()
	j := newJourney(t, "en", newChatHost())
	j.do(chromedp.Navigate(j.url + "/"))
	for _, question := range []string{"one", "two", "three"} {
		j.ask(question)
		j.sees(idle, read+`.endsWith("`+question+`")`)
	}
	eval[any](j, press("one", "Edit"))
	j.sees(`document.getElementById("question").value === "one"`)
	j.ask(" anew")
	j.sees(idle, read+` === "one anew 2/2"`)
	j.shot("edited")
	eval[any](j, press("one anew", "The version before"))
	j.sees(read + ` === "one 1/2, two, three"`)
	j.shot("old-version")
	j.ask("four")
	j.sees(idle, read+` === "one 1/2, two, three, four"`)
	j.do(chromedp.Reload())
	j.sees(read + ` === "one 1/2, two, three, four"`) // the newest branch
	eval[any](j, press("one", "The next version"))
	j.sees(read + ` === "one anew 2/2"`)
	j.ask("five")
	j.sees(idle, read+` === "one anew 2/2, five"`)
	j.ask("six")
	j.sees(idle, read+` === "one anew 2/2, five, six"`)
	if diff := cmp.Diff([]string{"newest", "newest", "newest", "begin", "three", "one anew", "newest"}, j.host.parents()); diff != "" {
		t.Error(diff)
	}
	// A third version, in the middle, is made while the conversation is closed and opened again.
	eval[any](j, press("five", "Edit"))
	j.sees(`document.getElementById("question").value === "five"`)
	j.ask(" hold")
	j.sees(`document.querySelector(".waiting .prose").textContent.includes("One")`, read+` === "one anew 2/2, five hold"`)
	j.do(chromedp.Click("#new"))
	j.sees(`!document.getElementById("welcome").hidden`)
	j.do(chromedp.Click("#list a"))
	j.sees(read + ` === "one anew 2/2, five hold"`)
	j.passGate()
	j.sees(idle, read+` === "one anew 2/2, five hold 2/2"`)
}

// Asking again keeps the old answer as another version; if it fails, the old answer stays the only
// one.
func TestChatPage_EditAndAskAgain(t *testing.T) {
	t.Parallel()
	const askAgain = `[...[...document.querySelectorAll(".assistant:not([hidden])")].at(-1).querySelectorAll(".actions button")].find((b) => b.ariaLabel === "Ask again").click()`
	j := newJourney(t, "en", newChatHost())
	j.do(chromedp.Navigate(j.url + "/"))
	eval[any](j, `const m = document.getElementById("model"); m.value = "home"; m.dispatchEvent(new Event("change"))`)
	j.ask("first")
	j.sees(idle, `document.querySelectorAll(".actions").length === 2`)
	j.do(chromedp.SendKeys("#question", "half a thought"))
	eval[any](j, press("first", "Edit"))
	j.sees(`document.getElementById("question").value === "first"`, `document.getElementById("hint").textContent.startsWith("Change the question")`)
	j.do(chromedp.KeyEvent("\u001b"))
	j.sees(`document.getElementById("question").value === "half a thought"`, `document.getElementById("hint").textContent === ""`)
	eval[any](j, press("first", "Edit"))
	j.ask(" again")
	j.sees(idle, read+` === "first again 2/2"`, `document.getElementById("question").value === "half a thought"`)
	eval[any](j, askAgain)
	j.sees(idle, read+` === "first again 3/3"`)
	j.do(chromedp.Reload())
	j.sees(read+` === "first again 3/3"`, `document.getElementById("question").value === "half a thought"`)
	if diff := cmp.Diff([]string{"first", "first again", "first again"}, j.host.questions()); diff != "" {
		t.Error(diff)
	}
	if a := j.host.turns[1]; a.Assistant != "home" || a.ConversationID != j.host.first() {
		t.Errorf("the second went to %q in %q", a.Assistant, a.ConversationID)
	}
	eval[any](j, `document.getElementById("question").value = ""`)
	eval[any](j, press("first again", "Edit"))
	j.ask(" fail")
	j.sees(idle, `document.querySelector(".note.bad")`, read+` === "first again 3/3, first again fail"`, `document.getElementById("question").value === "first again fail"`)
	// A deleted conversation leaves no data in the browser.
	j.remove()
	j.sees(`document.querySelectorAll("#list li").length === 0`, `!Object.keys(localStorage).some((key) => key.includes(".`+j.host.first()+`"))`)
}

// A conversation continues with its assistant; a new one begins with the person's last choice.
func TestChatPage_AssistantOfAConversation(t *testing.T) {
	t.Parallel()
	host := newChatHost()
	host.fill("k1", "Family", 2)
	host.all["k1"][1].Assistant = "home"
	host.fill("k2", "Teeth", 2)
	host.all["k2"][1].Assistant = "dental"
	j := newJourney(t, "en", host)
	j.do(chromedp.Navigate(j.url + "/#k1"))
	j.sees(`document.querySelector(".assistant")`, `document.getElementById("model").value === "home"`)
	j.do(chromedp.Click("#new"))
	j.sees(`document.getElementById("model").value === "dental"`)
	eval[any](j, `const m = document.getElementById("model"); m.value = "home"; m.dispatchEvent(new Event("change"))`)
	eval[any](j, `location.hash = "#k2"`)
	j.sees(`document.querySelector(".assistant")`, `document.getElementById("model").value === "dental"`)
	j.ask("Which brush?")
	j.sees(idle, `document.querySelectorAll(".assistant").length === 2`)
	j.do(chromedp.Click("#new"))
	j.sees(`document.getElementById("model").value === "home"`)
	if got := host.turns[0]; got.Assistant != "dental" || got.ConversationID != "k2" {
		t.Errorf("asked %q in %q", got.Assistant, got.ConversationID)
	}
}

// Commentary before a call is shown apart from the answer, while it streams and after a reload.
func TestChatPage_Commentary(t *testing.T) {
	t.Parallel()
	const parts = `[...document.querySelector(".assistant").children].slice(1, 3).map((part) => [...part.children].map((e) =>
		e.className.split(" ")[0] + ": " + (e.matches(".call") ? e.querySelector(".name").textContent : e.innerHTML.trim())).join(" | ")).join(" || ")`
	const want = `"commentary: <p>Let me <strong>look</strong>.</p> | call: family · search || `
	j := newJourney(t, "en", newChatHost())
	j.do(chromedp.Navigate(j.url + "/"))
	j.ask("look slowly")
	j.sees(`document.querySelector(".waiting .prose strong")`, `!document.querySelector(".commentary")`)
	j.passGate()
	j.sees(parts + ` === ` + want + `"`) // the answer is still empty
	j.shot("commentary")
	j.do(chromedp.Reload())
	j.sees(`document.querySelector(".assistant .call")`, parts+` === `+want+`"`)
	j.passGate()
	j.sees(idle, parts+`.startsWith(`+want+`") && document.querySelector(".assistant").children[2].textContent.trim() === "Found it."`)
	j.do(chromedp.Reload())
	j.sees(`document.querySelector(".assistant .call")`, parts+`.startsWith(`+want+`")`, `document.querySelector(".assistant").children[2].textContent.trim() === "Found it."`)
	j.shot("stored")
}

// A stored question that is still being answered is followed, not shown as answered.
func TestChatPage_RunningElsewhere(t *testing.T) {
	t.Parallel()
	host := newChatHost()
	host.fill("k1", "Teeth", 2)
	host.all["k1"] = append(host.all["k1"],
		schemas.StoredMessage{Seq: 3, Parent: 2, Role: schemas.RoleUser, Content: "And now?", TurnID: "x1", ParentTurn: "k1-0"},
		schemas.StoredMessage{Seq: 4, Parent: 3, Role: schemas.RoleAssistant, Content: "So", TurnID: "x1", Status: schemas.StatusRunning})
	j := newJourney(t, "vi", host)
	j.do(chromedp.Navigate(j.url + "/#k1"))
	j.sees(idle, `document.querySelectorAll(".assistant").length === 2`, `[...document.querySelectorAll(".assistant")].at(-1).querySelector(".note")`)
	j.ask("busy")
	j.sees(idle, `[...document.querySelectorAll(".note.bad")].at(-1)?.textContent.includes("đang được trả lời ở nơi khác")`)
}

// The trace page shows the cached tokens and the commentary of a turn.
func TestTurnPage_CacheAndCommentary(t *testing.T) {
	t.Parallel()
	cfg, _ := fullConfig(t, toolTurn())
	ts := live(t, cfg)
	if err := chromedp.Do(browser(t, "en"), chromedp.Navigate(ts.URL+"/turn?id=t1"),
		until(`document.querySelector(".summary").textContent.includes("1,457 in (1,012 from the cache), 80 out")`),
		until(`document.querySelectorAll(".pass")[1].textContent.includes("455 in (412 from the cache), 22 out")`),
		until(`document.querySelectorAll(".pass")[0].textContent.includes("412 in, 18 out")`),
		until(`document.querySelector(".commentary").textContent === "Let me look for her."`),
	); err != nil {
		t.Fatal(err)
	}
}
