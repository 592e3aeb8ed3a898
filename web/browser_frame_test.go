package web_test

import (
	"context"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/google/go-cmp/cmp"

	"molar/schemas"
)

// A listStore has conversations of several days and two assistants, in pages.
type listStore struct {
	*fullStore
	all []schemas.Conversation
}

func (s *listStore) List(_ context.Context, _, q string, limit int, after string) ([]schemas.Conversation, string, error) {
	from := 0
	if at, _, ok := cutCursor(after); ok {
		from = at
	}
	all := s.all
	if q != "" {
		all = []schemas.Conversation{all[0]}
		all[0].Snippet = "…see **the gums**, `then` [the page](https://x.example) ## and | more…"
	}
	to := min(from+limit, len(all))
	next := ""
	if to < len(all) {
		next = fmt.Sprintf("%d-1", to)
	}
	return all[from:to], next, nil
}

func cutCursor(after string) (at int, rest string, ok bool) {
	_, err := fmt.Sscanf(after, "%d-%s", &at, &rest)
	return at, rest, err == nil
}

// listed returns a store with n conversations, the last changed first: of today, yesterday, three days, two
// weeks and four months ago.
func listed(n int) *listStore {
	s := &listStore{fullStore: newFullStore()}
	noon := time.Now().Truncate(time.Hour)
	for i := range n {
		days := []int{0, 1, 3, 14, 120}[min(i, 4)]
		s.all = append(s.all, schemas.Conversation{
			ID: "c" + strconv.Itoa(i+1), Title: []string{"Gums", "Teeth", "Tax", "Teeth", "Old"}[min(i, 4)], Assistant: []string{"dental", "home"}[i%2],
			UpdatedAt: noon.AddDate(0, 0, -days).Add(-time.Duration(i) * time.Second),
		})
	}
	return s
}

// The pages for who is signed in have one frame: the list of conversations, whose links open them from each
// page, the other pages, of which the present one is marked, and the choice of the colours.
func TestPages_OneFrame(t *testing.T) {
	t.Parallel()
	cfg, _ := fullConfig(t, toolTurn())
	cfg.Conversations = listed(3)
	j := openPages(t, "en", cfg)
	for path, title := range map[string]string{"/tools": "Tools", "/config": "Settings", "/desk": "Desk", "/turn": "Trace of a turn", "/account": "My things"} {
		j.do(chromedp.Navigate(j.url + path))
		j.sees(`document.querySelectorAll("#list a").length === 3`, `document.querySelector(".bar h1").textContent === "`+title+`"`)
		if got := eval[string](j, `[...document.querySelectorAll(".side [aria-current]")].map((a) => a.getAttribute("href")).join()`); got != path && path != "/turn" {
			t.Errorf("%s: marked as current: %q", path, got)
		}
	}
	j.do(chromedp.Navigate(j.url+"/tools"), chromedp.WaitVisible("#list a"), chromedp.Click(`#theme [value="dark"]`))
	j.sees(`document.documentElement.dataset.theme === "dark"`, `document.querySelector('#theme [value="dark"]').checked`)
	j.do(chromedp.Click("#list a"))
	j.do(until(`location.pathname === "/" && location.hash === "#c1"`))
	j.sees(`document.querySelector('#theme [value="dark"]')?.checked`)
	j.do(chromedp.Navigate(j.url+"/tools"), chromedp.WaitVisible("#new"), chromedp.Click("#new"))
	j.do(until(`location.pathname === "/" && location.hash === ""`))
	j.sees(`!document.getElementById("welcome").hidden`)
}

// The list has days and assistants, shows the time of conversations of the same title, and loads older ones.
func TestChatPage_ListDays(t *testing.T) {
	t.Parallel()
	cfg, _ := fullConfig(t, toolTurn())
	store := listed(130)
	cfg.Conversations = store
	j := openPages(t, "en", cfg)
	j.do(chromedp.EmulateViewport(1280, 860), chromedp.Navigate(j.url+"/"))
	j.sees(`document.querySelectorAll("#list li").length === 100`)
	month := store.all[4].UpdatedAt.Format("January 2006")
	if diff := cmp.Diff("Today,Yesterday,Previous 7 days,Previous 30 days,"+month, eval[string](j, `[...document.querySelectorAll("#list h2")].map((h) => h.textContent).join()`)); diff != "" {
		t.Error(diff)
	}
	abouts := eval[string](j, `[...document.querySelectorAll("#list a")].slice(0, 4).map((a) => a.querySelector("small").textContent.split(/ · /).length).join()`)
	if abouts != "1,2,1,2" { // the assistant, and the time of those that have the same title
		t.Errorf("the rows have %s parts", abouts)
	}
	j.shot("days")
	eval[any](j, `document.querySelector(".older").scrollIntoView()`)
	j.sees(`document.querySelectorAll("#list li").length === 130`, `!document.querySelector(".older")`)
	eval[any](j, `const w = document.getElementById("whose"); w.value = "home"; w.dispatchEvent(new Event("change"))`)
	j.sees(`document.querySelectorAll("#list li").length === 65`)
	j.do(chromedp.SendKeys("#search", "gums"))
	eval[any](j, `const v = document.getElementById("whose"); v.value = ""; v.dispatchEvent(new Event("change"))`)
	j.sees(`document.querySelector("#list small")?.textContent === "…see the gums, then the page and more…"`)
}

// The list is one stop of the Tab key. Arrows, ends and first letters move in it, Delete opens the menu of
// a conversation, and Escape leaves.
func TestChatPage_ListByKeyboard(t *testing.T) {
	t.Parallel()
	cfg, _ := fullConfig(t, toolTurn())
	cfg.Conversations = listed(6)
	j := openPages(t, "en", cfg)
	j.do(chromedp.EmulateViewport(1280, 860), chromedp.Navigate(j.url+"/"))
	j.sees(`document.querySelectorAll("#list li").length === 6`)
	if got := eval[int](j, `[...document.querySelectorAll("#list *")].filter((e) => e.tabIndex >= 0).length`); got != 1 {
		t.Errorf("%d stops of the Tab key", got)
	}
	const at = `document.activeElement.dataset.id`
	j.do(chromedp.Focus("#search"), chromedp.KeyEvent(kb.ArrowDown))
	j.sees(at + ` === "c1"`)
	for _, step := range []struct{ key, want string }{
		{kb.ArrowDown, "c2"}, {kb.End, "c6"}, {kb.ArrowDown, "c6"}, {kb.Home, "c1"}, {"t", "c2"}, {"a", "c3"}, {kb.ArrowUp, "c2"},
	} {
		j.do(chromedp.KeyEvent(step.key))
		if got := eval[string](j, at); got != step.want {
			t.Errorf("after %q the focus is at %s, want %s", step.key, got, step.want)
		}
	}
	j.do(chromedp.KeyEvent(kb.Delete))
	j.sees(`document.activeElement.textContent === "Rename"`, `new Set([...document.querySelectorAll("#more .icon")].map((i) => i.getBoundingClientRect().left)).size === 1`)
	j.do(chromedp.KeyEvent(kb.ArrowDown))
	j.sees(`document.activeElement.textContent === "Pin"`)
	j.do(chromedp.KeyEvent(kb.Enter))
	j.sees(`document.querySelector("#list h2").textContent === "Pinned"`, at+` === "c2"`)
	j.do(chromedp.KeyEvent(kb.Escape))
	j.sees(`document.activeElement.id === "question"`)
}

// The model is chosen in the bar, and the settings page shows the same choice.
func TestChatPage_ChoosesTheModel(t *testing.T) {
	t.Parallel()
	cfg, _ := fullConfig(t, toolTurn())
	j := openPages(t, "en", cfg)
	j.do(chromedp.EmulateViewport(1280, 860), chromedp.Navigate(j.url+"/"))
	j.sees(`document.querySelector("#list a")`)
	const names = `[...document.querySelectorAll(".models button:not([hidden]) strong")].map((e) => e.textContent).join()`
	j.do(chromedp.Click("#picker"))
	j.sees(`document.querySelectorAll(".models button").length === 13`, `document.querySelector("#assistants [aria-labelledby=models-title] button").getAttribute("aria-pressed") === "true"`)
	j.shot("models")
	j.do(chromedp.SendKeys("#assistants input", "2.5:3b"))
	j.sees(names + ` === "qwen2.5:3b-instruct"`)
	j.do(chromedp.Click(".models button:not([hidden])"))
	j.sees(`localStorage.getItem("molar.settings") === '{"provider":"ollama","model":"qwen2.5:3b-instruct"}'`, `document.activeElement.id === "question"`)
	j.do(chromedp.Click("#picker"))
	j.sees(`document.querySelector(".models [aria-pressed=true] strong")?.textContent === "qwen2.5:3b-instruct"`)
	j.do(chromedp.Navigate(j.url + "/config"))
	j.sees(`document.getElementById("provider").value === "ollama"`, `document.getElementById("chat-model").value === "qwen2.5:3b-instruct"`)
	j.do(chromedp.Navigate(j.url+"/"), chromedp.Click("#picker"))
	j.sees(`document.querySelectorAll(".models button").length === 13`)
	j.do(chromedp.Click("#assistants [aria-labelledby=models-title] > button"))
	j.sees(`localStorage.getItem("molar.settings") === null`)
}

// However long a conversation is, few stops of the Tab key lie between its log and the box: those of one
// message. Page Up goes to the message before, whose buttons can be reached then.
func TestChatPage_TabStops(t *testing.T) {
	t.Parallel()
	host := newChatHost()
	host.fill("k1", "Teeth", 300)
	j := newJourney(t, "en", host)
	j.do(chromedp.EmulateViewport(1280, 860), chromedp.Navigate(j.url+"/#k1"))
	j.sees(`document.querySelectorAll(".message").length === 300`, `document.querySelector("#list a")`)
	presses := func() int {
		n := 0
		for ; n < 100 && eval[string](j, `document.activeElement.id`) != "question"; n++ {
			j.do(chromedp.KeyEvent("\t"))
		}
		return n
	}
	j.do(chromedp.Focus("#log"))
	if n := presses(); n < 4 || n > 20 {
		t.Errorf("%d presses of the Tab key from the log to the box, want 4 to 20", n)
	}
	j.do(chromedp.Focus("#log"), chromedp.KeyEvent(kb.PageUp))
	const at = `[...document.querySelectorAll(".message")].indexOf(document.activeElement)`
	j.sees(at + ` === 299`)
	for range 20 { // an answer that is higher than the view scrolls first
		if eval[int](j, at) == 298 {
			break
		}
		j.do(chromedp.KeyEvent(kb.PageUp))
	}
	j.sees(at + ` === 298`)
	j.do(chromedp.KeyEvent("\t"))
	j.sees(`document.activeElement.closest(".message") === document.querySelectorAll(".message")[298]`)
	if n := presses(); n > 20 {
		t.Errorf("%d presses of the Tab key from a message to the box", n)
	}
	j.ask("and now?")
	j.sees(idle, `document.querySelectorAll(".message").length === 302`)
	if got := eval[int](j, `new Set([...document.querySelectorAll(".message *")].filter((e) => e.tabIndex >= 0).map((e) => e.closest(".message"))).size`); got != 1 {
		t.Errorf("%d messages have stops", got)
	}
}

// Back goes to the conversation before, and from the first one of a new conversation to its beginning.
func TestChatPage_BackAndForward(t *testing.T) {
	t.Parallel()
	host := newChatHost()
	host.fill("k1", "Teeth", 2)
	j := newJourney(t, "en", host)
	j.do(chromedp.Navigate(j.url + "/"))
	j.sees(`document.querySelector("#list a")`)
	j.ask("hold on")
	j.passGate()
	j.sees(idle, `location.hash === "#`+host.first()+`"`)
	j.do(chromedp.Click(`#list a[href$="/#k1"]`))
	j.sees(`location.hash === "#k1"`, `document.querySelector(".assistant table")`)
	back := func(want string) {
		t.Helper()
		eval[any](j, `history.back()`)
		j.sees(want)
	}
	back(`location.hash === "#` + host.first() + `" && document.querySelector(".user .text")?.textContent === "hold on"`)
	back(`location.pathname === "/" && location.hash === "" && !document.getElementById("welcome").hidden && !document.querySelector(".message")`)
	eval[any](j, `history.forward()`)
	j.sees(`location.hash === "#` + host.first() + `" && document.querySelector(".user .text")?.textContent === "hold on"`)
}

// The address of an unknown conversation says so.
func TestChatPage_UnknownConversation(t *testing.T) {
	t.Parallel()
	j := newJourney(t, "en", newChatHost())
	j.do(chromedp.Navigate(j.url + "/#chat_0123456789abcdef0123456789abcdef"))
	j.sees(`document.querySelector("#log [role=alert]")?.textContent.startsWith("There is no such conversation here")`,
		`!document.getElementById("welcome").hidden`, `location.hash === ""`)
}

// A control that shows only an icon says its name to the keyboard's focus too.
func TestChatPage_Tips(t *testing.T) {
	t.Parallel()
	j := newJourney(t, "vi", newChatHost())
	j.do(chromedp.Navigate(j.url+"/"), chromedp.WaitVisible("#add"), chromedp.Focus("#question"), chromedp.KeyEvent("\t"))
	j.sees(`document.querySelector(".tip:popover-open")?.textContent === "Thêm tệp hoặc hình"`)
	j.do(chromedp.KeyEvent(kb.Escape))
	j.sees(`!document.querySelector(".tip:popover-open")`)
	j.do(chromedp.Focus("#picker"), chromedp.KeyEvent("\t"))
	j.sees(`document.activeElement.id === "log"`, `document.querySelector(".tip:popover-open")?.textContent.startsWith("Page Up và Page Down")`)
}
