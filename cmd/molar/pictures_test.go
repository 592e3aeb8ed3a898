package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"molar/internal/httpguard"
	"molar/internal/testkit/models"
)

// officeAnswers are what the model of the pictures says, by a part of the question.
var officeAnswers = map[string]string{ //nolint:gochecknoglobals // read only
	"How do I reset the password of the payroll": "I found nothing about the payroll system in the handbook. Please ask at the IT desk in room 12.",
	"Which form do I need":                       "I found nothing about a new laptop in the handbook. Please ask at the IT desk in room 12.",
	"How many days of annual leave":              "In your second year you have 26 days of annual leave. What is left over may be taken until the end of March.",
	"When is lunch":                              "Lunch is served in the canteen from noon to two.",
	"The printer":                                "E-52 means that the paper tray is open. Close tray 2 firmly, then press Resume.",
	"What does the guest Wi-Fi":                  "The guest Wi-Fi is free. Ask at the reception for the password of the day.",
}

// leaveRules are the document whose passage the pictures open.
const leaveRules = `# Leave

## Who decides

Your team lead decides about leave within three working days. Plan it together with your team.

## Annual leave

Annual leave grows with the years in the company:

| year | days of annual leave |
|---|---|
| first | 24 |
| second and third | 26 |
| from the fourth | 30 |

Days that are left over may be taken until the end of March.

## Sick leave

Call your team lead before ten. From the third day on a doctor's note is needed.
`

// playsOffice plays a model that answers from officeAnswers, opens tickets and resets passwords.
func playsOffice(r models.Request) *models.Reply {
	for part, text := range officeAnswers {
		if strings.Contains(r.LastUser, part) && !isSummary(r) {
			return models.Text(text)
		}
	}
	_, title, opens := strings.Cut(r.LastUser, "Open a ticket: ")
	title, _, _ = strings.Cut(title, "\n")
	switch last := r.Roles[len(r.Roles)-1]; {
	case opens && last == "user" && len(r.Tools) > 0:
		return &models.Reply{Calls: []models.Call{{Name: "helpdesk__open_ticket", Args: fmt.Appendf(nil, `{"title":%q}`, title)}}}
	case opens && !isSummary(r):
		return models.Text("Ticket 4711 is open: " + title)
	}
	return resetsPasswords(r)
}

// signIn signs in with a key, and opens a page.
func (b tab) signIn(url, name, page string) {
	b.t.Helper()
	b.open(url + page)
	b.sees(`location.pathname === "/login" && !document.getElementById("with-key").hidden`)
	b.do("sign in", chromedp.SendKeys("#key", deskKey(name)+"\r"))
	b.sees(`location.pathname === "` + page + `" && document.readyState === "complete"`)
}

// looks sets the size of the window, and light or dark.
func (b tab) looks(width, height int64, scheme string) {
	b.t.Helper()
	b.do("resize", chromedp.EmulateViewport(width, height), b.call("Emulation.setEmulatedMedia", map[string]any{
		"features": []map[string]string{{"name": "prefers-color-scheme", "value": scheme}, {"name": "prefers-reduced-motion", "value": "reduce"}},
	}))
}

// picture writes what is shown, in a window of a size, into docs/images.
func (b tab) picture(name string, width, height int64) {
	b.t.Helper()
	b.looks(width, height, "light")
	b.do("leave the box", chromedp.Evaluate[chromedp.Void](`document.activeElement?.blur()`))
	b.shoot(name)
}

// shoot writes what is shown into docs/images.
func (b tab) shoot(name string) {
	b.t.Helper()
	keepPicture(b.t, name, b.shown())
}

// shown returns what is shown.
func (b tab) shown() image.Image {
	b.t.Helper()
	shot, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
	if err != nil {
		b.t.Fatal(err)
	}
	shown, err := png.Decode(bytes.NewReader(shot))
	if err != nil {
		b.t.Fatal(err)
	}
	return shown
}

// keepPicture writes pictures, one beside the other, into docs/images.
func keepPicture(t *testing.T, name string, all ...image.Image) {
	t.Helper()
	const gap = 24
	width, height := -gap, 0
	for _, m := range all {
		width, height = width+gap+m.Bounds().Dx(), max(height, m.Bounds().Dy())
	}
	whole := image.NewRGBA(image.Rect(0, 0, width, height))
	draw.Draw(whole, whole.Bounds(), image.White, image.Point{}, draw.Src)
	at := 0
	for _, m := range all {
		draw.Draw(whole, image.Rect(at, 0, at+m.Bounds().Dx(), m.Bounds().Dy()), m, m.Bounds().Min, draw.Src)
		at += m.Bounds().Dx() + gap
	}
	var small bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&small, fewerColours(whole)); err != nil {
		t.Fatal(err)
	}
	if small.Len() > 150_000 {
		t.Errorf("%s has %d bytes", name, small.Len())
	}
	if err := os.WriteFile(filepath.Join("..", "..", "docs", "images", name), small.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
}

// fewerColours returns a picture in its 256 most frequent colours that differ to the eye, with the nearest of
// them for each other one: half the size.
func fewerColours(m image.Image) *image.Paletted {
	count := map[color.RGBA]int{}
	each := func(do func(x, y int, c color.RGBA)) {
		for y := m.Bounds().Min.Y; y < m.Bounds().Max.Y; y++ {
			for x := m.Bounds().Min.X; x < m.Bounds().Max.X; x++ {
				r, g, b, _ := m.At(x, y).RGBA()
				do(x, y, color.RGBA{uint8(r >> 8), uint8(g >> 8), uint8(b >> 8), 255})
			}
		}
	}
	each(func(_, _ int, c color.RGBA) { count[c]++ })
	all := slices.SortedFunc(maps.Keys(count), func(a, b color.RGBA) int { return cmp.Or(count[b]-count[a], cmp.Compare(fmt.Sprint(a), fmt.Sprint(b))) })
	few := image.NewPaletted(m.Bounds(), nil)
	for _, c := range all {
		alike := func(other color.Color) bool {
			o, _ := other.(color.RGBA)
			return max(c.R, o.R)-min(c.R, o.R) < 6 && max(c.G, o.G)-min(c.G, o.G) < 6 && max(c.B, o.B)-min(c.B, o.B) < 6
		}
		if len(few.Palette) < 256 && (count[c] > 2000 || !slices.ContainsFunc(few.Palette, alike)) {
			few.Palette = append(few.Palette, c)
		}
	}
	index := map[color.RGBA]uint8{}
	for _, c := range all {
		index[c] = uint8(few.Palette.Index(c))
	}
	each(func(x, y int, c color.RGBA) { few.SetColorIndex(x, y, index[c]) })
	return few
}

// TestPictures makes the pictures of the docs, of a help desk with its people.
func TestPictures(t *testing.T) {
	if os.Getenv("MOLAR_PICTURES") == "" {
		t.Skip("MOLAR_PICTURES is not set: make pictures writes the pictures of the docs")
	}
	desk := newHelpDesk(t)
	d := &deskHost{t: t, env: homeEnv(t, startModel(t, models.Config{Script: playsOffice})), dir: t.TempDir()}
	d.write("handbook/canteen.md", "# Canteen\n\nLunch is served in the canteen from noon to two.\n")
	d.write("handbook/printers.md", "# Printers\n\nThe printer on floor 3 shows E-52 when its paper tray is open. Close tray 2 firmly, then press Resume.\n")
	d.write("handbook/leave.md", leaveRules)
	d.write("handbook/guests.md", "# Guests\n\nThe guest Wi-Fi is free. The reception has the password of the day.\n")
	text := "default: helpdesk\nllm: {provider: ollama}\nmemory: {store: ./molar.db}\ntelemetry: {wire: 7d, trace: on}\nreview: {tests: tests}\n" +
		"assistants: {helpdesk: {system_prompt: You help colleagues with their computers., tools: ['helpdesk__*'], search: [handbook]}}\n" +
		"knowledge: {handbook: {path: handbook, corrections: true}}\n" +
		"groups: {staff: {scopes: [chat]}, leads: {scopes: [chat]}, support: {scopes: [chat, review]}}\n" +
		"mcpServers: {helpdesk: {url: '" + desk.url + "', tools: {reset_password: {approvers: [leads]}}}}\napi_keys:\n"
	for name, group := range map[string]string{"mai.le": "staff", "tuan.vo": "staff", "lan.ho": "leads", "thu.bui": "support"} {
		text += fmt.Sprintf("  - {name: %s, hash: %q, scopes: [chat, review], groups: [%s]}\n", name, httpguard.HashOf(deskKey(name)).String(), group)
	}
	d.write("molar.yaml", text)
	d.file = filepath.Join(d.dir, "molar.yaml")
	d.served = serveIn(t, d.env, d.file)
	d.stdout.wait(t, "server: helpdesk ready", nil)
	asks := func(who, chat, question string) (turn string) {
		code, text := d.as(who, http.MethodPost, "/v1/chat/completions", questionBody("helpdesk", chat, question, false))
		if code != http.StatusOK {
			t.Fatal(code, text)
		}
		_, turn, _ = strings.Cut(text, `"turn_id":"`)
		turn, _, _ = strings.Cut(turn, `"`)
		return turn
	}
	asks("tuan.vo", "chat_1", "What does the guest Wi-Fi cost?")
	asks("tuan.vo", "chat_2", "When is lunch served?")
	asks("mai.le", "chat_3", "Which form do I need for a new laptop?")
	printer := asks("mai.le", "chat_4", "The printer on floor 3 says E-52, what now?")
	if code, text := d.as("mai.le", http.MethodPost, "/v1/turns/"+printer+"/feedback", `{"mark":"up"}`); code != http.StatusOK {
		t.Fatal(code, text)
	}
	payroll := asks("tuan.vo", "chat_5", "How do I reset the password of the payroll system?")
	if code, text := d.as("tuan.vo", http.MethodPost, "/v1/turns/"+payroll+"/feedback", `{"mark":"down","note":"There must be a way without queueing."}`); code != http.StatusOK {
		t.Fatal(code, text)
	}

	thu := openTab(t, nil)
	thu.signIn(d.url, "thu.bui", "/desk")
	thu.sees(`document.querySelectorAll("#rows a").length === 5`)
	thu.do("choose", chromedp.Click(`#rows a[data-turn="`+payroll+`"]`))
	thu.sees(`document.querySelectorAll(".guide li.card").length === 3`)
	thu.do("scroll", chromedp.Evaluate[chromedp.Void](`scrollTo(0, scrollY + document.querySelector(".views").getBoundingClientRect().top - 70)`))
	thu.picture("desk.png", 1100, 760)

	asks("mai.le", "chat_6", "Please reset the password of minh.tran.")
	lan := openTab(t, nil)
	lan.signIn(d.url, "lan.ho", "/desk")
	lan.sees(`document.querySelector("#approvals .approval")`)
	lan.picture("approval.png", 800, 640)

	mai := openTab(t, nil)
	mai.signIn(d.url, "mai.le", "/")
	mai.sees(`document.querySelectorAll("#list li").length === 3`)
	mai.say("Open a ticket: the chair on floor 2 is broken")
	mai.sees(`document.querySelector(".approval")`)
	mai.do("always", chromedp.Evaluate[chromedp.Void](`[...document.querySelectorAll(".approval button")].find((b) => b.textContent === "Always").click()`))
	mai.sees(`document.querySelector(".assistant .actions")`)
	// The bill is written every five seconds.
	key := &http.Client{Transport: bearer(deskKey("mai.le"))}
	eventually(t, "the usage is written", func() bool {
		res, err := key.Get(d.url + "/v1/usage?by=key&since=2026-01-01")
		if err != nil {
			return false
		}
		defer res.Body.Close()
		text, err := io.ReadAll(res.Body)
		return err == nil && bytes.Contains(text, []byte(`"prompt_tokens"`))
	})
	source := openTab(t, nil)
	source.signIn(d.url, "tuan.vo", "/")
	source.say("How many days of annual leave do I have in my second year?")
	source.sees(`document.querySelector(".assistant .actions") && document.querySelector(".sources .passage")`)
	source.do("open the source", chromedp.Evaluate[chromedp.Void](`location.assign(document.querySelector(".sources .passage").getAttribute("href"))`))
	source.sees(`document.querySelector(".found #here")`)
	source.picture("source.png", 900, 620)

	mai.open(d.url + "/account")
	mai.sees(`!document.getElementById("usage-part").hidden && !document.getElementById("grants-part").hidden && document.querySelector("#erase")`)
	mai.picture("account.png", 1000, 1250)
}

// batteryAnswer is an answer with formulas.
const batteryAnswer = "About **43 minutes**. The battery stores $E = 480\\,\\text{Wh}$, of which the inverter passes on $\\eta = 90\\,\\%$:\n\n" +
	"$$\nt = \\frac{\\eta \\, E}{P} = \\frac{0{.}9 \\cdot 480\\,\\text{Wh}}{600\\,\\text{W}} = 0{.}72\\,\\text{h}\n$$\n\nAn older battery holds less. After $n$ years count on\n\n" +
	"$$\nE_n = E \\left(1 - \\frac{1}{20}\\right)^{n}, \\qquad E_4 \\approx 0{.}81\\,E\n$$"

// playsTickets plays a model that looks for tickets about a printer and opens one, in English and Vietnamese,
// and knows a formula.
func playsTickets(r models.Request) *models.Reply {
	vi := strings.Contains(r.LastUser, "Máy in") || strings.Contains(r.LastUser, "Mở một phiếu")
	opens := strings.Contains(r.LastUser, "Open a ticket") || strings.Contains(r.LastUser, "Mở một phiếu")
	calls := func(tool, args string) *models.Reply {
		return &models.Reply{Calls: []models.Call{{Name: "helpdesk__" + tool, Args: []byte(args)}}}
	}
	first := r.Roles[len(r.Roles)-1] == "user"
	switch {
	case isSummary(r):
		return models.Text(map[bool]string{true: "Máy in tầng 3 báo lỗi", false: "Printer on floor 3"}[vi])
	case strings.Contains(r.LastUser, "battery"):
		return models.Text(batteryAnswer)
	case first && opens && vi:
		return calls("create_ticket", `{"title":"Máy in tầng 3 báo E-52"}`)
	case first && opens:
		return calls("create_ticket", `{"title":"Printer 3 shows E-52"}`)
	case first && slices.Contains(r.Tools, "helpdesk__find_tickets"):
		return calls("find_tickets", map[bool]string{true: `{"query":"máy in tầng 3"}`, false: `{"query":"printer 3"}`}[vi])
	case first:
		return models.Text("I cannot see the tickets. **E-52** means that a paper tray is open.")
	case vi:
		return models.Text("Chưa có ai báo. **E-52** nghĩa là khay giấy đang mở.")
	}
	return models.Text("Nobody has. **E-52** means that a paper tray is open.")
}

// TestPictures_chat makes the pictures of the chat page: a call, why it was made, and a call that asks; the choice
// of a model; a formula; a phone; and those of the trace of a turn and of two turns compared.
func TestPictures_chat(t *testing.T) {
	if os.Getenv("MOLAR_PICTURES") == "" {
		t.Skip("MOLAR_PICTURES is not set: make pictures writes the pictures of the docs")
	}
	s := server.NewMCPServer("helpdesk", "1.0.0")
	s.AddTool(mcp.NewTool("find_tickets", mcp.WithDescription("Finds open tickets."), mcp.WithReadOnlyHintAnnotation(true), mcp.WithDestructiveHintAnnotation(false), mcp.WithString("query", mcp.Required())),
		func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			select { // as long as a real one takes
			case <-time.After(180 * time.Millisecond):
			case <-ctx.Done():
			}
			return mcp.NewToolResultText("No open ticket is about it."), nil
		})
	s.AddTool(mcp.NewTool("create_ticket", mcp.WithDescription("Opens a ticket for the people of the help desk."), mcp.WithDestructiveHintAnnotation(false), mcp.WithString("title", mcp.Required())),
		func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return mcp.NewToolResultText("Ticket 4711 is open."), nil
		})
	ts := httptest.NewServer(server.NewStreamableHTTPServer(s, server.WithStateLess(true)))
	t.Cleanup(ts.Close)
	d := &deskHost{t: t, env: homeEnv(t, startModel(t, models.Config{
		Script: playsTickets, Models: []string{"qwen2.5:7b-instruct", "qwen2.5:3b-instruct", "gemma3:12b", "llama3.1:8b", "mistral-nemo:12b"}, FirstToken: 120 * time.Millisecond, Interval: 15 * time.Millisecond,
	})), dir: t.TempDir()}
	d.write("molar.yaml", "default: helpdesk\nllm: {provider: ollama}\nmemory: {store: ./molar.db}\ntelemetry: {trace: on}\n"+
		"assistants: {helpdesk: {system_prompt: You help colleagues with their computers., tools: ['helpdesk__*']}}\n"+
		"mcpServers: {helpdesk: {url: '"+ts.URL+"/mcp'}}\n")
	d.file = filepath.Join(d.dir, "molar.yaml")
	d.served = serveIn(t, d.env, d.file)
	d.stdout.wait(t, "server: helpdesk ready", nil)

	b := openTab(t, nil)
	b.open(d.url + "/")
	b.say("Printer 3 shows E-52. Did anybody report it?")
	b.sees(`document.querySelector(".assistant .actions .why")`)
	b.say("Open a ticket, please.")
	b.sees(`document.querySelector(".approval .primary")`)
	b.do("why", chromedp.EmulateViewport(1280, 850), chromedp.Evaluate[chromedp.Void](`document.querySelector(".assistant .actions .why").click()`))
	b.sees(`document.querySelector("#why .badge")`)
	b.do("fold", chromedp.Evaluate[chromedp.Void](`document.querySelector(".approval details").open = false; document.getElementById("log").scrollTop = 0`))
	b.picture("chat.png", 1280, 950)

	trace := tab{t, chromiumTab(t)}
	first, err := chromedp.Run(b.ctx, chromedp.Evaluate[string](`document.querySelector(".assistant .actions .why").href`))
	if err != nil {
		t.Fatal(err)
	}
	b.do("refuse", chromedp.Evaluate[chromedp.Void](`document.querySelector(".approval > .row:last-child button:last-child").click()`))
	b.sees(`document.querySelectorAll(".assistant .actions").length === 2`)
	trace.open(first)
	trace.sees(`document.querySelectorAll(".fall li").length > 3`)
	trace.picture("trace.png", 1280, 1140)
	trace.do("ask again", chromedp.Click(".why .again"))
	const compare = `.assistant:not([hidden]) a[href*="before="]`
	trace.sees(`location.pathname === "/" && document.querySelector('` + compare + `')`)
	trace.do("compare", chromedp.Click(compare))
	trace.sees(`location.pathname === "/turn" && document.querySelector(".compared.differs")`)
	trace.picture("compare.png", 1280, 950)

	b.open(d.url + "/")
	b.do("begin", chromedp.Click("#new"))
	b.say("How long does the battery of the server room last at 600 W?")
	b.sees(`document.querySelector(".assistant .actions")`, `document.querySelectorAll(".prose math").length === 5`)
	b.picture("formula.png", 1000, 680)
	b.do("begin", chromedp.Click("#new"), chromedp.Click("#picker"))
	b.sees(`document.querySelectorAll(".models button").length >= 5`)
	b.picture("models.png", 1000, 680)

	phone := tab{t, chromiumTab(t)}
	phone.do("speak Vietnamese", phone.call("Emulation.setUserAgentOverride", map[string]any{"userAgent": "Mobile", "acceptLanguage": "vi"}))
	phone.looks(390, 800, "dark")
	phone.open(d.url + "/")
	phone.say("Máy in tầng 3 báo E-52. Có ai báo lỗi chưa?")
	phone.sees(`document.querySelector(".assistant .actions .why")`)
	phone.say("Mở một phiếu giúp tôi.")
	phone.sees(`document.querySelector(".approval .primary")`)
	phone.do("leave the box", chromedp.Evaluate[chromedp.Void](`document.activeElement?.blur()`))
	phone.shoot("phone.png")
}

// clinicSite is a page of a clinic's web site in each language.
var clinicSite = map[string]string{ //nolint:gochecknoglobals // read only
	"en": `<h1>Green Lane Dental</h1><p class="lead">Gentle dentistry for the whole family since 1998.</p><img alt="" src="data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 400 150'%3E%3Crect width='400' height='150' fill='%23dff0e8'/%3E%3Ccircle cx='330' cy='40' r='60' fill='%23bfe3d2'/%3E%3Ccircle cx='80' cy='140' r='80' fill='%23a9d8c2'/%3E%3C/svg%3E"><h2>Opening hours</h2><p>Monday to Friday, 8 am to 5 pm</p><h2>Our services</h2><ul><li>Check-ups and cleaning</li><li>Fillings and root canals</li><li>Children's dentistry</li><li>Implants</li></ul>`,
	"vi": `<h1>Nha khoa Lá Xanh</h1><p class="lead">Chăm sóc răng nhẹ nhàng cho cả gia đình từ năm 1998.</p><img alt="" src="data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 400 150'%3E%3Crect width='400' height='150' fill='%23dff0e8'/%3E%3Ccircle cx='330' cy='40' r='60' fill='%23bfe3d2'/%3E%3Ccircle cx='80' cy='140' r='80' fill='%23a9d8c2'/%3E%3C/svg%3E"><h2>Giờ làm việc</h2><p>Thứ Hai đến thứ Sáu, 8 giờ đến 17 giờ</p><h2>Dịch vụ</h2><ul><li>Khám và lấy cao răng</li><li>Trám răng, chữa tủy</li><li>Nha khoa trẻ em</li><li>Cấy ghép implant</li></ul>`,
}

// playsClinic plays a model that has read the clinic's leaflets.
func playsClinic(r models.Request) *models.Reply {
	switch {
	case isSummary(r):
		return nil
	case strings.Contains(r.LastUser, "nhổ răng"):
		return models.Text("Sau khi nhổ răng, bạn nên **đợi hết tê** rồi mới ăn, và chọn đồ mềm, nguội trong ngày đầu:\n\n- cháo, súp nguội, sữa chua\n- không dùng ống hút, không hút thuốc")
	case strings.Contains(r.LastUser, "extraction"):
		return models.Text("After an extraction **wait until the numbness is gone** before you eat, and choose soft, cool food on the first day:\n\n- yoghurt, porridge, cool soup\n- no straw, no smoking")
	}
	return models.Text("A check-up takes about half an hour.")
}

// TestPictures_clinic makes the pictures of an assistant for the public: the page of a clinic on a phone with the
// frame open, and a hand-over as both sides see it.
func TestPictures_clinic(t *testing.T) {
	if os.Getenv("MOLAR_PICTURES") == "" {
		t.Skip("MOLAR_PICTURES is not set: make pictures writes the pictures of the docs")
	}
	d := &deskHost{t: t, env: homeEnv(t, startModel(t, models.Config{Script: playsClinic})), dir: t.TempDir()}
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		lang := strings.Trim(r.URL.Path, "/")
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprintf(w, `<!doctype html><html lang=%q><meta name="viewport" content="width=device-width"><title>Clinic</title>
<style>body { margin: 0 auto; padding: 0 20px; max-width: 720px; font: 17px/1.5 Georgia, serif; color: #24352d } h1 { color: #14694a; margin: 18px 0 0 } .lead { margin-top: 4px } img { width: 100%%; border-radius: 10px }</style>
%s<script async src="%s/embed.js"></script></html>`, lang, clinicSite[lang], d.url)
	}))
	t.Cleanup(site.Close)
	in := newInbox(t)
	d.write("leaflets/extraction.md", "# After an extraction\n\nWait until the numbness is gone before you eat. Choose soft, cool food on the first day, such as yoghurt, porridge or cool soup. No straw, no smoking.\n")
	d.write("leaflets/nho-rang.md", "# Sau khi nhổ răng\n\nĐợi hết tê rồi mới ăn. Trong ngày đầu chọn đồ mềm, nguội như cháo, súp nguội, sữa chua. Không dùng ống hút, không hút thuốc.\n")
	d.write("molar.yaml", fmt.Sprintf(`default: reception
llm: {provider: ollama}
memory: {store: ./molar.db}
trusted_proxies: [127.0.0.1]
assistants: {reception: {system_prompt: You answer for a dental clinic., search: [leaflets]}}
knowledge: {leaflets: {path: leaflets}}
public:
  assistant: reception
  origins: [%q]
  title: {en: Ask the clinic, vi: Hỏi phòng khám}
  notice: {en: A program answers here and may be wrong., vi: Một chương trình trả lời tại đây và có thể sai.}
  colour: "#14694a"
handover: {webhook: %q, secret: whsec_%s}
groups: {desk: {scopes: [review]}}
api_keys: [{name: lan.ho, hash: %q, scopes: [chat, review]}]
`, site.URL, in.url, base64.StdEncoding.EncodeToString([]byte(hookKey)), httpguard.HashOf(deskKey("lan.ho")).String()))
	d.file = filepath.Join(d.dir, "molar.yaml")
	d.served = serveIn(t, d.env, d.file)

	for lang, question := range map[string]string{"vi": "Sau khi nhổ răng bao lâu thì tôi ăn được?", "en": "When may I eat after an extraction?"} {
		phone := tab{t, chromiumTab(t)}
		phone.looks(390, 800, "light")
		phone.open(site.URL + "/" + lang)
		const host = `document.querySelector("molar-chat").shadowRoot`
		phone.sees(`document.querySelector("molar-chat")?.shadowRoot.querySelector("#open")`)
		closed := phone.shown()
		phone.do("open", chromedp.Evaluate[chromedp.Void](host+`.querySelector("#open").click()`))
		phone.sees(host + `.querySelector("dialog > button").hidden`) // the frame has said that it is there
		phone.do("ask", chromedp.KeyEvent(question+"\r"))
		<-time.After(3 * time.Second) // what the frame shows cannot be read from its page
		keepPicture(t, "clinic-"+lang+".png", closed, phone.shown())
	}

	visitor := tab{t, chromiumTab(t)}
	visitor.looks(420, 980, "light")
	visitor.open(d.url + "/embed?lang=en")
	visitor.sees(`document.querySelector("#ask")?.checkVisibility()`)
	ask := func(text string) {
		visitor.do("ask", chromedp.SendKeys("#text", text+"\r"))
		visitor.sees(`document.getElementById("stop").hidden && !document.getElementById("text").value`)
	}
	ask("When may I eat after an extraction?")
	ask("I would like to talk to somebody")
	visitor.sees(`document.querySelector(".offer button")`)
	visitor.do("hand over", chromedp.Evaluate[chromedp.Void](`[...document.querySelectorAll(".offer button")].at(0).click()`))
	visitor.sees(`document.getElementById("form-agree")`)
	visitor.do("fill in", chromedp.SendKeys("#form-name", "Mai"), chromedp.SendKeys("#form-phone", "0901 234 567"), chromedp.Click("#form-agree"), chromedp.Evaluate[chromedp.Void](`document.getElementById("form").requestSubmit()`))
	in.wait(t, "handover.requested", "")
	ask("It still bleeds a little, is that normal?")
	lan := openTab(t, nil)
	lan.signIn(d.url, "lan.ho", "/desk")
	lan.looks(760, 980, "light")
	lan.sees(`document.querySelector("#handovers a, #handovers button")`)
	lan.do("open", chromedp.Evaluate[chromedp.Void](`document.querySelector("#handovers a, #handovers button").click()`))
	lan.sees(`document.querySelector("#handovers textarea")`)
	lan.do("answer", chromedp.SendKeys("#handovers textarea", "Hello Mai, a little is normal today. Bite on a clean cloth for half an hour; if it does not stop, call us."), chromedp.Evaluate[chromedp.Void](`document.querySelector("#handovers textarea").form.requestSubmit()`))
	visitor.sees(`document.querySelector(".from-desk")`)
	visitor.do("leave the box", chromedp.Evaluate[chromedp.Void](`document.activeElement?.blur()`))
	lan.sees(`document.querySelector("#handovers").textContent.includes("a little is normal")`)
	lan.do("leave the box", chromedp.Evaluate[chromedp.Void](`document.activeElement?.blur(); document.querySelector("#handovers article").scrollIntoView({ block: "end" })`))
	keepPicture(t, "handover.png", visitor.shown(), lan.shown())
}

// playsFamilies plays a large, a medium and a small model: the medium one says the same in other words, and
// the small one looks for the wrong name once, and is wrong once. All are brief if they are told to.
func playsFamilies(r models.Request) *models.Reply {
	small, other := r.Model == "small", r.Model == "medium"
	type turn struct{ query, answer, reworded, brief string }
	var is turn
	switch {
	case isSummary(r):
		return nil
	case strings.Contains(r.LastUser, "Nguyen"):
		is = turn{"Nguyen", "There are two families of that name: Nguyen with two members, and Nguyễn Phúc with four.", "I found two: Nguyen (two members) and Nguyễn Phúc (four members).", "Two: Nguyen and Nguyễn Phúc."}
		if small {
			is.answer, is.brief = "There is one family of that name: Nguyen.", "One: Nguyen."
		}
	case strings.Contains(r.LastUser, "Trần"):
		is = turn{"Trần", "Có một gia đình tên Trần, gồm ba người.", "Gia đình Trần có ba người.", "Một gia đình, ba người."}
	default:
		is = turn{"Smith", "Yes. The family Smith has three members; Eleanor is the oldest.", "Yes, Smith has three members, and Eleanor is the oldest.", "Yes, three members. Oldest: Eleanor."}
		if small {
			is.query = "Smyth"
			is.answer, is.brief = "No, there is no family called Smith.", "No."
		}
	}
	if r.Roles[len(r.Roles)-1] == "user" && len(r.Tools) > 0 {
		return &models.Reply{Calls: []models.Call{{Name: "family__search_family", Args: fmt.Appendf(nil, `{"query":%q}`, is.query)}}}
	}
	switch {
	case strings.Contains(r.Body, "as few words"):
		return models.Text(is.brief)
	case other:
		return models.Text(is.reworded)
	}
	return models.Text(is.answer)
}

// TestPictures_matrix makes the picture of models and prompts side by side.
func TestPictures_matrix(t *testing.T) {
	if os.Getenv("MOLAR_PICTURES") == "" {
		t.Skip("MOLAR_PICTURES is not set: make pictures writes the pictures of the docs")
	}
	url, dir := startModel(t, models.Config{Script: playsFamilies, Models: []string{"large", "medium", "small"}}).URL(), t.TempDir()
	d := &deskHost{t: t, dir: dir}
	d.write("brief.txt", "You look up families. Answer in as few words as you can.\n")
	text := "default: family\nllm:\n  provider: large\n  providers:\n"
	for model, price := range map[string]string{"large": "{input: 3, output: 15}", "medium": "{input: 0.4, output: 1.6}", "small": "{input: 0.1, output: 0.4}"} {
		text += fmt.Sprintf("    %s: {api: ollama, base_url: %q, model: %s, price: %s}\n", model, url, model, price)
	}
	d.write("molar.yaml", text+"assistants: {family: {system_prompt: You look up families., tools: ['family__*']}}\nmcpServers: {family: {command: "+buildFamily(t)+"}}\n")
	env := map[string]string{"HOME": dir, "PATH": os.Getenv("PATH")}
	for _, c := range [][3]string{
		{"nguyen-families", "Which families are called Nguyen?", "{contains: Phúc}"},
		{"gia-đình-trần", "Tìm giúp tôi gia đình Trần", "{regex: '(ba|3) người'}"},
		{"smith-oldest", "Is there a family Smith, and who is the oldest?", "{contains: Eleanor}"},
	} {
		file := filepath.Join(dir, "cases", c[0]+".yaml")
		if code, out := molarIn(t, env, "eval", "record", "--config", filepath.Join(dir, "molar.yaml"), "--out", file, c[1]); code != 0 {
			t.Fatal(out)
		}
		edit(t, file, "expect:\n", "expect:\n      answer: {all: ["+c[2]+"]}\n")
	}
	page := filepath.Join(dir, "matrix.html")
	code, out := molarIn(t, env, "eval", "run", filepath.Join(dir, "cases"), "--models", "large,medium,small", "--prompts", ".,"+filepath.Join(dir, "brief.txt"), "--html", page)
	t.Logf("exit code %d\n%s", code, out)
	shown := openTab(t, nil)
	shown.open("file://" + page)
	shown.do("open a cell", chromedp.Evaluate[chromedp.Void](`location.hash = document.querySelectorAll("tbody tr")[2].querySelectorAll("td a")[4].getAttribute("href")`))
	shown.sees(`document.querySelector("details.case[open]")`)
	shown.do("scroll", chromedp.Evaluate[chromedp.Void](`document.querySelectorAll("details.case:not([open]), .meta").forEach((c) => c.remove()); scrollTo(0, 0)`))
	shown.picture("matrix.png", 1120, 1020)
}
