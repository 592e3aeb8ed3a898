package web_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"molar/agent"
	"molar/agent/answer"
	"molar/internal/httpguard"
	"molar/schemas"
	"molar/web/public"
)

// A clinic is the site of an operator, with the assistant for its visitors on the same server. Whether the
// site is another one for a browser depends on the name under which its page is opened.
type clinic struct {
	*chatHost
	cfg    public.Config
	server *httptest.Server
	// requests are the paths that were asked for.
	requests []string

	state sync.Mutex
	desk  schemas.Handover
	// away is set outside the hours of the desk.
	away bool
	// noCookies is set if the browser keeps no cookies.
	noCookies bool
	refusal   *schemas.LimitRefusal
	erased    []string
}

// openClinic serves a clinic; change may change what visitors get.
func openClinic(t *testing.T, change func(*public.Config)) *clinic {
	t.Helper()
	c := &clinic{chatHost: newChatHost()}
	c.cfg = public.Config{
		Assistant: "dental",
		Title:     map[string]string{"vi": "Hỏi Nha khoa Hoa Mai", "en": "Ask Hoa Mai Dental"},
		Notice: map[string]string{
			"vi": "Một trợ lý tự động trả lời các câu hỏi về răng miệng. Trợ lý có thể sai và không thay thế bác sĩ.",
			"en": "An automatic assistant answers questions about teeth. It can be wrong, and does not replace a dentist.",
		},
		Privacy: "https://clinic.example/privacy", Colour: "#0b6b5d",
		Mark: []byte(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><circle cx="16" cy="16" r="15" fill="#0b6b5d"/><path fill="none" stroke="#fff" stroke-width="2.500" stroke-linejoin="round" d="M10 9c3-2 4 0 6 0s3-2 6 0 2 6 .5 9-1 6-2.500 6-1.500-6-4-6-2.500 6-4 6-1-3-2.500-6S7 11 10 9z"/></svg>`), MarkType: "image/svg+xml",
		Limits: public.Limits{Visitor: schemas.Rate{Count: 20, Per: time.Hour}, Address: schemas.Rate{Count: 60, Per: time.Hour}, All: schemas.Rate{Count: 2000, Per: 24 * time.Hour}},
		Desk:   c,
		Count: func(_ context.Context, limits []schemas.CountedLimit) (*schemas.LimitRefusal, error) {
			c.state.Lock()
			defer c.state.Unlock()
			if strings.HasPrefix(limits[0].Name, "handover:") {
				return nil, nil //nolint:nilnil // no limit refuses
			}
			return c.refusal, nil
		},
		Secret: []byte("secret"), Keep: 24 * time.Hour,
	}
	if change != nil {
		change(&c.cfg)
	}
	cfg := c.config(t)
	cfg.Agent = script(c.turn)
	cfg.Notice = func(text string) string {
		notice, _, found := strings.Cut(text, "\n\n")
		if !found || !strings.HasPrefix(text, "Call 115") {
			return ""
		}
		return notice + "\n\n"
	}
	cfg.People = &clinicPeople{c: c}
	cfg.KeepAlive = 100 * time.Millisecond
	var h http.Handler
	c.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c.state.Lock()
		c.requests = append(c.requests, r.URL.Path)
		if c.noCookies {
			r.Header.Del("Cookie")
		}
		c.state.Unlock()
		if strings.HasPrefix(r.URL.Path, "/site") {
			c.page(w, r)
			return
		}
		h.ServeHTTP(w, r)
	}))
	t.Cleanup(c.server.Close)
	_, port, _ := strings.Cut(c.server.Listener.Addr().String(), ":")
	c.cfg.Origins = []string{c.server.URL, "http://localhost:" + port}
	guard, err := httpguard.New(httpguard.Config{Hosts: []string{"127.0.0.1:" + port, "localhost:" + port}})
	if err != nil {
		t.Fatal(err)
	}
	cfg.Guard, cfg.MaxBody, cfg.Public = guard, httpguard.DefaultMaxBody, &c.cfg
	h = build(t, cfg)
	t.Cleanup(c.server.CloseClientConnections)
	return c
}

// page serves the page of the clinic, under a policy that allows what its documentation says and no more.
func (c *clinic) page(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", fmt.Sprintf("default-src 'none'; style-src 'nonce-site'; script-src %[1]s; frame-src %[1]s; require-trusted-types-for 'script'", c.server.URL))
	lang := strings.TrimPrefix(r.URL.Path, "/site/")
	words := map[string][4]string{
		"vi": {"Nha khoa Hoa Mai", "Nụ cười khoẻ, từ răng đầu tiên", "Khám răng cho cả nhà, từ thứ Hai đến thứ Bảy, tại Quận 3. Đặt lịch qua điện thoại hoặc hỏi chúng tôi ngay tại đây.", "Đặt lịch khám"},
		"en": {"Hoa Mai Dental", "A healthy smile from the first tooth", "Dental care for the whole family, Monday to Saturday, in District 3. Call us for an appointment, or ask us right here.", "Book a visit"},
	}[lang]
	_, _ = fmt.Fprintf(w, `<!doctype html><html lang=%q><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1, viewport-fit=cover"><title>%s</title>
<style nonce="site">body{margin:0;font:17px/1.6 Georgia,serif;color:#26302e;background:#faf7f2}header{display:flex;justify-content:space-between;padding:18px 24px;background:#fff;border-bottom:1px solid #e8e2d8;font-weight:bold}main{padding:40px 24px;max-width:720px}h1{font-size:34px;line-height:1.2;margin:0 0 16px}button,iframe,dialog{background:#b5452c!important;color:#fff;border:0;padding:12px 20px;border-radius:4px;font:bold 16px Georgia}section{height:60vh;margin:32px 24px;border-radius:8px;background:linear-gradient(120deg,#dfe9e2,#f0e2d0)}</style>
<header><span>%[2]s</span><span>028 1234 5678</span></header><main><h1>%[3]s</h1><p>%[4]s</p><button id="book">%[5]s</button></main><section></section>
<script async src="%[6]s/embed.js"></script></html>`, lang, words[0], words[1], words[2], words[3], c.server.URL)
}

// turn answers as its question says.
func (c *clinic) turn(ctx context.Context, turn agent.Turn, yield func(answer.Event) bool) error {
	asked, _ := turn.Question()
	yield(answer.Event{Kind: answer.KindStart, Start: &answer.Start{TurnID: turn.ID, ConversationID: turn.ConversationID, Assistant: "dental", Created: time.Now()}})
	d := *done().Done
	var sources []schemas.Source
	reply := ""
	say := func(pieces ...string) {
		for _, piece := range pieces {
			reply += piece
			yield(text(piece))
		}
	}
	c.state.Lock()
	desk := c.desk
	c.state.Unlock()
	switch {
	case desk.Silences():
		d.WithDesk = true
	case strings.Contains(asked, "fail"):
		return fmt.Errorf("the model is asleep")
	case strings.Contains(asked, "slowly"):
		say("First **this**.\n\n")
		if c.pass(ctx, asked) != nil {
			return ctx.Err()
		}
		say("Then that.")
	case strings.Contains(asked, "face"), strings.Contains(asked, "mặt"):
		say("Call 115 at once: a swelling that reaches the eye or makes it hard to breathe is an emergency.\n\n", "Until help comes, sit upright and do not lie down.")
	case strings.Contains(asked, "person"), strings.Contains(asked, "nhân viên"):
		say(map[bool]string{true: "Bạn có thể nhắn cho nhân viên của phòng khám.", false: "You can write to the staff of the clinic."}[strings.Contains(asked, "nhân viên")])
		d.Handover = schemas.HandoverWords
	case strings.Contains(asked, "tax"):
		say("I can only help with questions about teeth.")
		d.Refused = true
	case strings.Contains(asked, "all"):
		say(lesson)
	case strings.Contains(asked, "chải"):
		say("Bé nên tập chải răng **từ chiếc răng đầu tiên**, khoảng 6 tháng tuổi:\n\n", "- dưới 3 tuổi: kem có fluor, lượng bằng hạt gạo\n- từ 3 tuổi: lượng bằng hạt đậu\n- ngày hai lần, ba mẹ chải cùng bé đến khoảng 7 tuổi")
		sources = []schemas.Source{{Title: "Chăm sóc răng cho trẻ, Nha khoa Hoa Mai", URL: "https://clinic.example/tre-em"}}
	default:
		say("Brush from the **first tooth**, at about six months:\n\n", "- under three: a smear of toothpaste with fluoride\n- from three: as much as a pea\n- twice a day, and together until about seven")
		sources = []schemas.Source{{Title: "Children's teeth, Hoa Mai Dental", URL: "https://clinic.example/children"}}
	}
	c.mu.Lock()
	c.store(turn.ConversationID, turn, asked, schemas.StoredMessage{Content: reply, Sources: sources})
	c.mu.Unlock()
	yield(answer.Event{Kind: answer.KindSources, Sources: sources})
	yield(answer.Event{Kind: answer.KindDone, Done: &d})
	return nil
}

// writes lets the desk write to the visitor.
func (c *clinic) writes(words string) {
	c.state.Lock()
	c.desk.State = schemas.HandoverAnswered
	id := c.desk.ConversationID
	c.state.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all[id] = append(c.all[id], schemas.StoredMessage{Seq: int64(len(c.all[id])) + 1, Role: schemas.RoleAssistant, Content: words, Assistant: schemas.Desk, TurnID: "desk", Timestamp: time.Now()})
}

// moves lets the hand-over come to a state.
func (c *clinic) moves(to schemas.HandoverState) {
	c.state.Lock()
	defer c.state.Unlock()
	c.desk.State = to
}

// set changes the clinic.
func (c *clinic) set(change func()) {
	c.state.Lock()
	defer c.state.Unlock()
	change()
}

// Open implements [public.Handovers].
func (c *clinic) Open(context.Context, string, string) (schemas.Handover, bool, error) {
	c.state.Lock()
	defer c.state.Unlock()
	return c.desk, c.desk.State != "" && c.desk.State != schemas.HandoverClosed, nil
}

// Status says what is true of the desk, in words like those of the host.
func (c *clinic) Status(_ context.Context, _, _, lang string) (schemas.HandoverStatus, error) {
	c.state.Lock()
	defer c.state.Unlock()
	words := func(vi, en string) string { return map[string]string{"vi": vi, "en": en}[lang] }
	s := schemas.HandoverStatus{
		On: true, Open: !c.away, Ask: []string{"name", "phone"}, State: c.desk.State, Callback: c.desk.Callback,
		Fallback: words("Trong lúc chờ, hãy gọi lễ tân: 028 1234 5678.", "Meanwhile call the reception: 028 1234 5678."),
		Text: map[schemas.HandoverState]string{
			schemas.HandoverSending:   words("Đang gửi yêu cầu đến nhân viên. Chưa có ai nhận được.", "Your request is being sent to the staff. Nobody has it yet."),
			schemas.HandoverDelivered: words("Yêu cầu của bạn đã đến hộp thư của nhân viên; chưa có ai trả lời.", "Your request is in the inbox of the staff; nobody has answered yet."),
			schemas.HandoverFailed:    words("Không chuyển được tin của bạn: chưa có ai thấy yêu cầu của bạn.", "Your message could not be delivered: nobody has seen your request."),
			schemas.HandoverAnswered:  words("Nhân viên trả lời bạn tại đây.", "The staff answer you here."),
		}[c.desk.State],
	}
	if c.desk.State == schemas.HandoverClosed {
		s.State = ""
	}
	if c.away {
		s.Next = time.Date(2027, 3, 1, 8, 0, 0, 0, time.FixedZone("", 7*3600))
		s.Text += words("Nhân viên có mặt lại lúc 08:00 thứ Hai, ngày 1/3.", "The staff are back on Monday, 1 March, at 08:00.")
	}
	return s, nil
}

func (c *clinic) Request(_ context.Context, h schemas.Handover) (schemas.Handover, error) {
	c.state.Lock()
	defer c.state.Unlock()
	h.State = schemas.HandoverSending
	c.desk = h
	return h, nil
}

func (c *clinic) Close(context.Context, schemas.Handover, string) error {
	c.moves(schemas.HandoverClosed)
	return nil
}

func (c *clinic) Forget(ctx context.Context, _, _ string, erase func(context.Context) error) error {
	return erase(ctx)
}

func (c *clinic) Messages(_ context.Context, _, id string) ([]schemas.StoredMessage, string, bool, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	all, ok := c.all[id]
	return append([]schemas.StoredMessage(nil), all...), "", ok, nil
}

// clinicPeople forgets visitors.
type clinicPeople struct {
	somePeople
	c *clinic
}

func (p *clinicPeople) ErasePerson(_ context.Context, owner string) (schemas.Erased, error) {
	p.c.mu.Lock()
	defer p.c.mu.Unlock()
	p.c.erased = append(p.c.erased, owner)
	delete(p.c.all, schemas.VisitorConversation(owner))
	return schemas.Erased{}, nil
}

// visit opens a page of the clinic.
func (c *clinic) visit(t *testing.T, language, path string) *journey {
	t.Helper()
	j := &journey{t: t, ctx: browser(t, language), url: c.server.URL, server: c.server, host: c.chatHost}
	j.do(chromedp.EmulateViewport(420, 800), chromedp.Navigate(c.server.URL+path))
	return j
}

// says writes a question and sends it.
func (j *journey) says(words string) {
	j.t.Helper()
	j.do(chromedp.SendKeys("#text", words+"\r"))
}

// answered waits until a number of answers are complete.
func (j *journey) answered(n int) {
	j.t.Helper()
	j.sees(fmt.Sprintf(`document.querySelectorAll(".after").length === %d && document.getElementById("stop").hidden`, n))
}

// press clicks the button with these words.
func (j *journey) press(words string) {
	j.t.Helper()
	const find = `[...document.querySelectorAll("button, summary")].find((b) => b.checkVisibility() && (b.textContent.trim() === %[1]q || b.getAttribute("aria-label") === %[1]q))`
	j.sees(fmt.Sprintf(find, words))
	eval[any](j, fmt.Sprintf(find+`.click()`, words))
}

const announced = `document.getElementById("live").textContent`

// The button on the page of a site is at most 3 kB and loads nothing more until it is pressed. It works under
// a strict policy of the site, leaves no global behind, and has the look that the site's rules would take
// from it.
func TestEmbed_Button(t *testing.T) {
	t.Parallel()
	c := openClinic(t, func(cfg *public.Config) {
		cfg.Title = map[string]string{"vi": "Hỏi Phòng khám Răng Hàm Mặt Hoa Mai, Quận 3", "en": "Ask the dentists and the reception of Hoa Mai Dental, District 3"}
	})
	j := c.visit(t, "en", "/site/vi")
	const host = `document.querySelector("molar-chat").shadowRoot`
	j.sees(host + `.querySelector("#open span").textContent === "Hỏi Phòng khám Răng Hàm Mặt Hoa Mai, Quận 3"`)
	size := eval[int](j, `performance.getEntriesByType("resource").find((e) => e.name.endsWith("/embed.js")).encodedBodySize`)
	t.Logf("embed.js has %d bytes", size)
	if size == 0 || size > 3000 {
		t.Errorf("embed.js has %d bytes", size)
	}
	c.set(func() {
		for _, path := range c.requests {
			if strings.HasPrefix(path, "/embed") && path != "/embed.js" {
				t.Errorf("%s was loaded before the frame was opened", path)
			}
		}
	})
	if got := eval[string](j, `(() => { const frame = document.createElement("iframe"); document.body.append(frame); const own = new Set(Object.getOwnPropertyNames(frame.contentWindow)); frame.remove(); return Object.getOwnPropertyNames(window).filter((n) => !own.has(n) && n !== "book").join(); })()`); got != "" {
		t.Errorf("globals of the page: %s", got)
	}
	if got := eval[string](j, host+`.querySelector("#open") && getComputedStyle(`+host+`.querySelector("#open")).backgroundColor`); got != "rgb(11, 107, 93)" {
		t.Errorf("the button is %s", got)
	}
	if got := eval[string](j, `getComputedStyle(document.getElementById("book")).backgroundColor`); got != "rgb(181, 69, 44)" {
		t.Errorf("the button of the site is %s", got)
	}
}

// With the keyboard alone: the focus goes into the frame when it opens, and back to the button when it
// closes, and it can leave the frame.
func TestEmbed_Keyboard(t *testing.T) {
	t.Parallel()
	c := openClinic(t, nil)
	for _, width := range []int64{1280, 390} { // beside the page, and over it
		j := c.visit(t, "en", "/site/en")
		j.do(chromedp.EmulateViewport(width, 800))
		const host = `document.querySelector("molar-chat").shadowRoot`
		const inside = host + `.querySelector("iframe").contentDocument`
		j.sees(host + `.querySelector("#open")`)
		eval[any](j, `document.getElementById("book").focus()`)
		j.do(chromedp.KeyEvent(kb.Tab), chromedp.KeyEvent(kb.Enter))
		j.sees(host+`.activeElement?.tagName === "IFRAME"`, inside+`.activeElement.id === "text"`, host+`.querySelector("#open").getAttribute("aria-expanded") === "true"`,
			host+`.querySelector("dialog > button").hidden`)
		if modal := eval[bool](j, host+`.querySelector("dialog").matches(":modal")`); modal != (width == 390) {
			t.Errorf("at %d the frame is modal: %v", width, modal)
		}
		j.shot(fmt.Sprintf("opened-%d", width))
		j.do(chromedp.KeyEvent(kb.Escape))
		j.sees(host+`.activeElement?.id === "open"`, `!`+host+`.querySelector("dialog").open`, host+`.querySelector("#open").getAttribute("aria-expanded") === "false"`)
		j.do(chromedp.KeyEvent(kb.Enter))
		j.sees(inside + `.activeElement.id === "text"`)
		if width == 390 {
			continue
		}
		for range 12 { // through the frame and out of it
			j.do(chromedp.KeyEvent(kb.Tab))
			if eval[bool](j, `document.activeElement.tagName !== "MOLAR-CHAT"`) {
				break
			}
		}
		j.sees(`document.activeElement.tagName !== "MOLAR-CHAT"`)
		eval[any](j, inside+`.getElementById("close").click()`)
		j.sees(host + `.activeElement?.id === "open"`)
	}
}

// A visitor asks, reads, marks, downloads and forgets; nobody is a visitor before the first question.
func TestEmbed_Conversation(t *testing.T) {
	t.Parallel()
	c := openClinic(t, nil)
	j := c.visit(t, "en", "/embed?lang=en")
	j.sees(`document.activeElement.id === "text"`)
	c.set(func() {
		for _, path := range c.requests {
			if path == "/embed/visit" {
				t.Error("somebody who only opened the frame became a visitor")
			}
		}
	})
	j.says("How do children brush?")
	j.answered(1)
	j.sees(`document.querySelector(".prose strong").textContent === "first tooth"`, announced+`.includes("twice a day")`)
	j.press("Sources (1)")
	j.sees(`document.querySelector(".sources a").href === "https://clinic.example/children"`)
	j.press("Not helpful")
	j.sees(`document.activeElement.placeholder.startsWith("What is wrong?")`)
	j.do(chromedp.KeyEvent("too short"), chromedp.KeyEvent(kb.Enter))
	j.sees(`document.activeElement.getAttribute("aria-pressed") === "true"`)
	c.mu.Lock()
	for _, mark := range c.marks {
		if mark.Mark != schemas.MarkDown || mark.Note != "too short" {
			t.Errorf("the mark is %+v", mark)
		}
	}
	c.mu.Unlock()
	j.do(chromedp.Reload())
	j.answered(1)
	j.sees(`document.querySelector(".user > div").textContent === "How do children brush?"`, `document.querySelector('[aria-label="Not helpful"]').getAttribute("aria-pressed") === "true"`)
	j.press("Your conversation")
	j.press("Download the conversation")
	j.sees(announced + `.includes("is downloaded")`)
	j.press("Your conversation")
	j.press("Forget the conversation")
	j.sees(`document.querySelector("dialog[open]")`)
	j.do(chromedp.KeyEvent(kb.Escape))
	j.sees(`!document.querySelector("dialog")`, `document.querySelector(".user")`)
	j.press("Your conversation")
	j.press("Forget the conversation")
	j.press("Forget it")
	j.sees(`!document.querySelector(".user")`, announced+`.includes("is erased")`, `document.activeElement.id === "text"`)
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.erased) != 1 || len(c.all) != 0 {
		t.Errorf("erased %v, left %d conversations", c.erased, len(c.all))
	}
}

// Where browsers keep no cookie for a frame, the frame keeps the visitor itself.
func TestEmbed_NoCookies(t *testing.T) {
	t.Parallel()
	c := openClinic(t, func(cfg *public.Config) { cfg.Consent = true })
	j := &journey{t: t, ctx: browser(t, "vi"), url: c.server.URL, server: c.server, host: c.chatHost}
	j.do(chromedp.Navigate(c.server.URL + "/embed?lang=vi"))
	c.set(func() { c.noCookies = true })
	j.press("Tôi đồng ý")
	j.sees(`document.activeElement.id === "text"`)
	j.says("Trẻ chải răng khi nào?")
	j.answered(1)
	j.do(chromedp.Reload())
	j.answered(1)
	j.sees(`!document.getElementById("ask").hidden`)
}

// The focus is never lost: not when the stored conversation of somebody who has agreed comes, nor when all is
// forgotten, and then nothing is left of a hand-over. Enter alone erases nothing.
func TestEmbed_Focus(t *testing.T) {
	t.Parallel()
	c := openClinic(t, func(cfg *public.Config) { cfg.Consent = true })
	j := c.visit(t, "en", "/embed?lang=en")
	j.press("I agree")
	j.says("How do children brush?")
	j.answered(1)
	j.do(chromedp.Reload())
	j.answered(1)
	j.sees(`document.activeElement.id === "text"`)
	forget := func() {
		t.Helper()
		j.press("Your conversation")
		j.press("Forget the conversation")
		j.sees(`document.activeElement.textContent === "Keep it"`)
		j.press("Forget it")
		j.sees(announced+`.endsWith("The conversation is erased.")`, `document.activeElement.textContent === "I agree"`)
	}
	j.press("Talk to a person")
	j.sees(`document.getElementById("form-agree")`)
	forget()
	j.sees(`!document.getElementById("form")`, `document.getElementById("ask").hidden`)
	j.press("I agree")
	j.sees(`document.activeElement.id === "text"`)
	j.press("Talk to a person")
	j.do(chromedp.Click("#form-agree"))
	j.press("Send the request")
	j.sees(`document.getElementById("desk").textContent.includes("being sent")`)
	c.moves(schemas.HandoverClosed)
	forget()
	j.sees(`document.getElementById("desk").hidden`)
}

// What a visitor wrote is never lost: to a limit, a failure, a cut line or a question that is too long. An
// emergency notice stays in view with each of them.
func TestEmbed_Troubles(t *testing.T) {
	t.Parallel()
	c := openClinic(t, func(cfg *public.Config) {
		cfg.Emergency = func(_, text string) (string, bool) { return "Call 115 at once.", strings.Contains(text, "face") }
	})
	j := c.visit(t, "en", "/embed?lang=en")
	j.sees(`document.activeElement.id === "text"`)
	until := time.Now().Add(40 * time.Minute)
	c.set(func() {
		c.refusal = &schemas.LimitRefusal{Limit: schemas.CountedLimit{Name: "address:x"}, Until: until}
	})
	j.says("my face is swollen")
	j.sees(`document.querySelector(".note").textContent.includes("You can ask again from")`, `document.querySelector(".emergency").textContent.includes("Call 115 at once.")`)
	c.set(func() { c.refusal = nil })
	j.press("Ask again")
	j.answered(1)
	j.sees(`!document.querySelector(".note")`, `document.querySelectorAll(".user").length === 1`, `document.querySelectorAll(".emergency").length === 1`)
	j.says("fail")
	j.sees(`document.querySelector(".note[role=alert]").textContent.includes("can't answer at the moment")`)
	eval[any](j, `document.getElementById("text").value = "é".repeat(2003); document.getElementById("text").dispatchEvent(new Event("input"))`)
	j.sees(`document.getElementById("count").textContent === "3 characters too many"`)
	j.do(chromedp.Focus("#text"), chromedp.KeyEvent(kb.Enter))
	if got := eval[int](j, `document.getElementById("text").value.length`); got != 2003 {
		t.Errorf("a question that is too long has %d characters left", got)
	}
	eval[any](j, `document.getElementById("text").value = ""; document.getElementById("text").dispatchEvent(new Event("input"))`)
	j.says("slowly, please")
	j.sees(`document.querySelector("#messages > :last-child strong")?.textContent === "this"`, `!document.getElementById("stop").hidden`)
	line := func(off bool) chromedp.Action[chromedp.Void] { return throttle(off, -1) }
	j.do(line(true))
	c.server.CloseClientConnections()
	j.sees(`document.getElementById("offline").textContent.startsWith("You are offline")`)
	j.do(line(false))
	j.sees(`document.getElementById("offline").textContent === ""`, announced+`.includes("You are online again")`)
	j.passGate()
	j.answered(2)
	j.sees(`document.querySelector("#messages > :last-child .prose").innerText.replace(/\s+/g, " ").trim() === "First this. Then that."`)
	j.says("slowly again")
	j.sees(`document.querySelector("#messages > :last-child strong")?.textContent === "this"`)
	j.press("Stop")
	j.sees(`document.querySelector("#messages > :last-child").textContent.includes("was stopped")`, `document.getElementById("stop").hidden`)
}

// throttle limits the line to bytes per second, -1 for no limit.
func throttle(offline bool, bytes int) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		var none struct{}
		return target.Call(ctx, "Network.emulateNetworkConditions", map[string]any{"offline": offline, "latency": 0, "downloadThroughput": bytes, "uploadThroughput": bytes}, &none)
	})
}

// On a line of 20 kB/s the frame can be used within two seconds, after at most 30 kB and eight requests.
func TestEmbed_SlowLine(t *testing.T) {
	t.Parallel()
	c := openClinic(t, nil)
	j := c.visit(t, "en", "/site/en")
	j.do(throttle(false, 20_000), chromedp.Navigate(c.server.URL+"/embed?lang=en"))
	j.sees(`performance.getEntriesByName("usable").length === 1`)
	const entries = `[...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")]`
	took := eval[float64](j, `performance.getEntriesByName("usable")[0].startTime`)
	requests, size := eval[int](j, entries+`.length`), eval[int](j, entries+`.reduce((sum, e) => sum + e.encodedBodySize + 300, 0)`)
	t.Logf("usable after %.0f ms, %d requests, %d bytes", took, requests, size)
	if took > 2000 || requests > 8 || size > 30_000 {
		t.Error("want 2 s, 8 requests and 30 kB at most")
	}
}

// A visitor reaches the desk: what the frame says is what is true, in each state.
func TestEmbed_Handover(t *testing.T) {
	t.Parallel()
	c := openClinic(t, nil)
	j := c.visit(t, "en", "/embed?lang=en")
	j.sees(`document.activeElement.id === "text"`)
	j.says("I want a person")
	j.answered(1)
	j.sees(`document.querySelector(".offer")`)
	eval[any](j, `document.querySelector(".offer .primary").click()`)
	j.sees(`document.activeElement.id === "form-name"`, `document.getElementById("ask").hidden`)
	j.do(chromedp.KeyEvent(kb.Escape))
	j.sees(`!document.getElementById("form")`, `document.activeElement.id === "text"`)
	c.set(func() { c.away = true })
	j.press("Talk to a person")
	j.sees(`document.getElementById("form").textContent.includes("back on Monday, 1 March, at 08:00")`, `document.getElementById("form-phone").required`, `document.getElementById("form").textContent.includes("028 1234 5678")`)
	j.press("Cancel")
	c.set(func() { c.away = false })
	j.press("Talk to a person")
	j.sees(`document.activeElement.id === "form-name"`)
	j.do(chromedp.KeyEvent("Lan"), chromedp.KeyEvent(kb.Tab), chromedp.KeyEvent("0901 234 567"), chromedp.KeyEvent(kb.Tab), chromedp.KeyEvent(" "))
	j.press("Send the request")
	bar := func(words string) string {
		return fmt.Sprintf(`document.getElementById("desk").textContent.includes(%q)`, words)
	}
	j.sees(bar("being sent"), `document.activeElement.id === "text"`)
	c.moves(schemas.HandoverDelivered)
	j.sees(bar("nobody has answered yet"), announced+`.includes("nobody has answered yet")`)
	j.says("Are you there?")
	j.sees(`document.querySelector(".user:last-child small")?.textContent === "Passed on to the staff" || [...document.querySelectorAll(".user small")].length === 1`)
	c.writes("Hello, this is Mai. How can I help?")
	j.sees(`document.querySelector(".from-desk").textContent.includes("this is Mai")`, bar("The staff answer you here"), announced+`.includes("this is Mai")`)
	if n := eval[int](j, `document.querySelectorAll(".user").length`); n != 2 {
		t.Errorf("%d questions are shown, want 2", n)
	}
	j.press("Go on with the assistant")
	j.sees(bar("The assistant answers you again"))
	j.press("Talk to a person")
	j.sees(`document.getElementById("form")`)
	j.do(chromedp.Click("#form-agree"))
	j.press("Send the request")
	j.sees(bar("being sent"))
	c.moves(schemas.HandoverFailed)
	j.sees(bar("nobody has seen your request"), bar("028 1234 5678"), `[...document.querySelectorAll("#desk button")].some((b) => b.textContent === "Try again")`)
}

// The frame in each of its states, small and large, light and dark, in both languages: axe-core finds nothing,
// and nothing is wider than the frame.
func TestEmbed_Scenes(t *testing.T) {
	t.Parallel()
	axe := axeSource(t)
	for _, language := range []string{"en", "vi"} {
		t.Run(language, func(t *testing.T) {
			t.Parallel()
			c := openClinic(t, func(cfg *public.Config) { cfg.Consent = true })
			j := c.visit(t, language, "/embed?lang="+language)
			in := func(en, vi string) string { return map[string]string{"en": en, "vi": vi}[language] }
			look := func(name string) {
				t.Helper()
				for _, l := range looks() {
					j.do(l.see(), fitsWidth(name+"-"+l.name), shoot(t, name+"-"+language+"-"+l.name))
					judge(j.ctx, t, axe, name+"-"+language+"-"+l.name)
				}
			}
			j.sees(`document.querySelector("#first button")`)
			look("consent")
			j.press(in("I agree", "Tôi đồng ý"))
			look("empty")
			j.says(in("slowly", "slowly"))
			j.sees(`document.querySelector("#messages strong")`)
			look("streaming")
			j.passGate()
			j.answered(1)
			for _, question := range []string{in("How do children brush?", "Trẻ chải răng thế nào?"), in("My face is swollen", "Mặt tôi sưng, sưng cả mặt"), "tax", "all"} {
				j.says(question)
				j.sees(`document.getElementById("stop").hidden && !document.querySelector(".waits")`)
			}
			eval[any](j, `document.querySelector("summary").click()`)
			look("answers")
			eval[any](j, `document.getElementById("more").click()`)
			look("menu")
			eval[any](j, `document.getElementById("forget").click()`)
			j.sees(`document.querySelector("dialog[open]")`)
			look("forget")
			j.do(chromedp.KeyEvent(kb.Escape))
			j.says("fail")
			j.sees(`document.querySelector(".note")`)
			eval[any](j, `document.getElementById("text").value = "a".repeat(2003); document.getElementById("text").dispatchEvent(new Event("input"))`)
			look("failed")
			eval[any](j, `document.getElementById("text").value = ""; document.getElementById("text").dispatchEvent(new Event("input"))`)
			j.says(in("a person", "gặp nhân viên"))
			j.sees(`document.querySelector(".offer")`)
			look("offer")
			c.set(func() { c.away = true })
			j.press(in("Talk to a person", "Gặp nhân viên"))
			j.sees(`document.getElementById("form")`)
			look("form")
			c.set(func() { c.away = false })
			j.do(chromedp.SendKeys("#form-phone", "0901 234 567"), chromedp.Click("#form-agree"))
			j.press(in("Send the request", "Gửi yêu cầu"))
			j.sees(`document.getElementById("desk").textContent`)
			look("sending")
			c.writes(in("Hello, this is Mai. How can I help?", "Chào bạn, tôi là Mai. Tôi giúp gì được ạ?"))
			j.sees(`document.querySelector(".from-desk")`)
			look("answered")
			c.moves(schemas.HandoverFailed)
			j.sees(`document.querySelector("#desk.failed")`)
			look("nobody")
		})
	}
}

// Forced colours, a page that is zoomed to 200 %, and targets of 44 px.
func TestEmbed_Reach(t *testing.T) {
	t.Parallel()
	c := openClinic(t, nil)
	j := c.visit(t, "vi", "/embed?lang=vi")
	j.sees(`document.activeElement.id === "text"`)
	j.says("Trẻ chải răng thế nào?")
	j.answered(1)
	if got := eval[string](j, `[...document.querySelectorAll("button, summary, input, textarea")].filter((b) => b.checkVisibility() && (b.getBoundingClientRect().height < 44 || b.getBoundingClientRect().width < 44)).map((b) => b.id || b.outerHTML.slice(0, 80)).join()`); got != "" {
		t.Errorf("smaller than 44 px: %s", got)
	}
	j.do(chromedp.EmulateViewport(320, 320)) // 640 px at 200 %
	if room := eval[float64](j, `document.getElementById("log").clientHeight`); room < 120 {
		t.Errorf("%.0f px are left for the conversation", room)
	}
	if over := eval[int](j, `document.documentElement.scrollHeight - document.documentElement.clientHeight`); over > 0 {
		t.Errorf("the page of the frame scrolls by %d px beside its conversation", over)
	}
	j.shot("zoomed")
	j.do(chromedp.EmulateViewport(420, 800), chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		var none struct{}
		return target.Call(ctx, "Emulation.setEmulatedMedia", map[string]any{"features": []map[string]string{{"name": "forced-colors", "value": "active"}}}, &none)
	}))
	if got := eval[string](j, `getComputedStyle(document.querySelector(".user > div")).borderTopStyle`); got != "solid" {
		t.Errorf("a question has no border in forced colours: %s", got)
	}
	j.shot("forced")
}

// Whatever a site does to its body and its layers, the button stays where it can be pressed, and the frame
// fills the window of a phone.
func TestEmbed_HostileSite(t *testing.T) {
	t.Parallel()
	c := openClinic(t, nil)
	const host = `document.querySelector("molar-chat").shadowRoot`
	for _, css := range []string{
		"body { transform: translateZ(0); min-height: 3000px }", "body { filter: grayscale(1); min-height: 3000px }", "body { zoom: 1.5 }",
		"div { position: fixed; inset: 0; z-index: 2147483647; background: #fc0 }",
		"html { display: flex; gap: 90px; direction: rtl; writing-mode: vertical-rl } body { flex: 1 }",
		"* { all: unset !important; display: none !important } html, body { display: block !important }",
	} {
		j := c.visit(t, "en", "/site/en")
		j.sees(host + `.querySelector("#open")`)
		eval[any](j, fmt.Sprintf(`(() => { document.body.append(document.createElement("div")); const sheet = new CSSStyleSheet(); sheet.replaceSync(%q); document.adoptedStyleSheets = [sheet]; })()`, css))
		at := eval[string](j, `(() => { const box = `+host+`.querySelector("#open").getBoundingClientRect(); return box.width + " " + box.height + " " + document.elementFromPoint(box.x + 28, box.y + 28)?.tagName; })()`)
		if at != "56 56 MOLAR-CHAT" {
			t.Errorf("%s: the button is %s", css, at)
		}
		eval[any](j, host+`.querySelector("#open").click()`)
		j.sees(`(({ x, y, width, height }) => x === 0 && y === 0 && width === innerWidth && height === innerHeight)(` + host + `.querySelector("dialog").getBoundingClientRect())`)
	}
}

// Who has closed the frame is told that the desk has written, by a dot and by words for screen readers.
func TestEmbed_News(t *testing.T) {
	t.Parallel()
	c := openClinic(t, nil)
	j := c.visit(t, "en", "/site/vi")
	const host = `document.querySelector("molar-chat").shadowRoot`
	const inside = host + `.querySelector("iframe").contentDocument`
	j.sees(host + `.querySelector("#open")`)
	eval[any](j, host+`.querySelector("#open").click()`)
	j.sees(inside + `.activeElement.id === "text"`)
	eval[any](j, inside+`.getElementById("person").click()`)
	j.sees(inside + `.getElementById("form-agree")`)
	eval[any](j, inside+`.getElementById("form-agree").click(), `+inside+`.getElementById("form").requestSubmit()`)
	j.sees(inside + `.getElementById("desk").textContent`)
	eval[any](j, inside+`.getElementById("close").click()`)
	c.writes("Chào bạn, tôi là Mai.")
	const said = host + `.querySelector("[role=status]").textContent`
	j.sees(host+`.querySelector("#open").textContent.endsWith("Có tin mới") && !`+host+`.querySelector("i").hidden`, said+` === "Hỏi Nha khoa Hoa Mai: Có tin mới"`)
	eval[any](j, host+`.querySelector("#open").click()`)
	j.sees(host+`.querySelector("i").hidden`, said+` === ""`)
}

// On a page of another site the frame works as on the same, and only there may it be shown.
func TestEmbed_OtherSite(t *testing.T) {
	t.Parallel()
	c := openClinic(t, nil)
	for _, language := range []string{"vi", "en"} {
		j := &journey{t: t, ctx: browser(t, language), url: c.server.URL, server: c.server, host: c.chatHost}
		j.do(chromedp.EmulateViewport(390, 844), chromedp.Navigate(strings.Replace(c.server.URL, "127.0.0.1", "localhost", 1)+"/site/"+language))
		const host = `document.querySelector("molar-chat").shadowRoot`
		j.sees(host + `.querySelector("#open")`)
		eval[any](j, host+`.querySelector("#open").focus()`)
		j.shot("closed-" + language)
		j.do(chromedp.KeyEvent(kb.Enter))
		j.sees(host + `.querySelector("dialog > button").hidden`) // the frame has said that it is there
		j.do(chromedp.KeyEvent(map[string]string{"vi": "Trẻ chải răng thế nào?", "en": "How do children brush?"}[language]), chromedp.KeyEvent(kb.Enter))
		for asked := 0; asked == 0; {
			c.mu.Lock()
			for _, messages := range c.all {
				asked += len(messages)
			}
			c.mu.Unlock()
			eval[any](j, `new Promise((done) => { setTimeout(done, 50); })`)
		}
		c.mu.Lock()
		clear(c.all)
		c.mu.Unlock()
		eval[any](j, `(() => { const end = Date.now() + 600; while (Date.now() < end); })()`)
		j.shot("phone-" + language)
		j.do(chromedp.KeyEvent(kb.Escape))
		j.sees(host + `.activeElement?.id === "open"`)
	}
}
