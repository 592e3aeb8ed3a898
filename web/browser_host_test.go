package web_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/chromedp"

	"molar/web"
)

// A missing server is reported in the bar, once in a conversation however many turns miss it, until
// a turn does not miss it.
func TestChatPage_MissingServers(t *testing.T) {
	t.Parallel()
	for language, words := range map[string]struct{ one, two, why string }{
		"en": {"notes is missing", "2 servers are missing", `tools are missing: server "notes" failed: connection refused`},
		"vi": {"thiếu notes", "thiếu 2 máy chủ", `thiếu công cụ: máy chủ "notes" chưa dùng được (failed): kết nối bị từ chối`},
	} {
		t.Run(language, func(t *testing.T) {
			t.Parallel()
			host := newChatHost()
			host.loses("notes")
			j := newJourney(t, language, host)
			j.do(chromedp.EmulateViewport(360, 740), chromedp.Navigate(j.url+"/"))
			j.ask("please look")
			j.sees(idle, `document.getElementById("missing").textContent === "`+words.one+`"`)
			j.ask("pay the dentist")
			j.sees(`document.querySelector(".approval")`)
			if moves := eval[string](j, `getComputedStyle(document.querySelector(".waiting .prose:empty"), "::after").animationName`); moves != "none" {
				t.Errorf("below a question to the person something moves: %s", moves)
			}
			j.shot("approval")
			j.do(chromedp.Click(".approval .row button:last-child"))
			j.sees(idle, `document.querySelectorAll(".assistant .actions").length === 2`)
			j.fits()
			j.clips()
			if shown := eval[string](j, `document.getElementById("log").textContent`); strings.Contains(shown, "notes") {
				t.Errorf("the answers speak of the server: %s", shown)
			}
			if shown := eval[int](j, `document.getElementById("live").textContent.split("notes").length - 1`); shown != 1 {
				t.Errorf("it is announced %d times", shown)
			}
			j.do(chromedp.Click("#missing"))
			j.sees(`document.querySelector("#missing-why:popover-open p").textContent === '` + words.why + `'`)
			j.shot("why")
			j.fits()
			eval[any](j, `document.getElementById("missing-why").hidePopover()`)
			host.loses("notes", "calendar")
			j.ask("look again")
			j.sees(idle, `document.getElementById("missing").textContent === "`+words.two+`"`)
			host.loses()
			j.ask("look once more")
			j.sees(idle, `document.getElementById("missing").hidden`)
			host.loses("notes")
			j.ask("look at last")
			j.sees(idle, `!document.getElementById("missing").hidden`)
			eval[any](j, `document.getElementById("new").click()`)
			j.sees(`document.getElementById("missing").hidden`)
		})
	}
}

// The bar shows the model that would answer, for this browser's settings and for another assistant
// too, and then the model that has answered.
func TestChatPage_WhoAnswers(t *testing.T) {
	t.Parallel()
	host := newChatHost()
	host.fill("k1", "Toothpaste", 2)
	cfg := host.config(t)
	var mu sync.Mutex
	var asked []web.Selection
	cfg.Hints.Provider = func(_ context.Context, q web.Selection) (name, model, why string, err error) {
		mu.Lock()
		defer mu.Unlock()
		asked = append(asked, q)
		if q.Assistant == "home" {
			return "openai", "scripted", "", nil
		}
		return "ollama", "llama3.2:3b", "", nil
	}
	j := openPages(t, "en", cfg)
	j.host = host
	j.do(chromedp.EmulateViewport(1280, 800), chromedp.Navigate(j.url+"/"))
	j.sees(`document.getElementById("by").textContent === "llama3.2:3b · ollama"`)
	eval[any](j, `const m = document.getElementById("model"); m.value = "home"; m.dispatchEvent(new Event("change"))`)
	j.sees(`document.getElementById("by").textContent === "scripted · openai"`)
	j.ask("please look")
	j.sees(idle, `document.getElementById("by").textContent === "qwen · ollama"`) // the fallback has answered
	j.shot("bar")
	eval[any](j, `localStorage.setItem("molar.settings", '{"provider":"gemini","model":"g"}'); dispatchEvent(new Event("focus"))`)
	j.sees(`document.getElementById("by").textContent === "scripted · openai"`)
	mu.Lock()
	defer mu.Unlock()
	if last := asked[len(asked)-1]; last != (web.Selection{Assistant: "home", Provider: "gemini", Model: "g"}) {
		t.Errorf("the host was asked about %+v", last)
	}
}

// When a server is attached while the host runs, the page offers the assistant that may call it:
// one click begins a conversation with that assistant. The offer is not repeated after the person
// has declined.
func TestChatPage_Offer(t *testing.T) {
	t.Parallel()
	for language, words := range map[string]struct{ says, ask, stay string }{
		"en": {"Servers are attached. The assistant dental may not call their tools; home may.", "Ask home", "Stay with dental"},
		"vi": {"Đã gắn máy chủ. Trợ lý dental không gọi được công cụ của chúng; home thì được.", "Hỏi home", "Giữ dental"},
	} {
		t.Run(language, func(t *testing.T) {
			t.Parallel()
			j := newJourney(t, language, newChatHost())
			j.do(chromedp.EmulateViewport(360, 740), chromedp.Navigate(j.url+"/"))
			j.ask("please look")
			j.sees(idle, `document.getElementById("offer").hidden`)
			j.host.offers("home")
			eval[any](j, `dispatchEvent(new Event("focus"))`)
			j.sees(`document.querySelector("#offer p").textContent === "`+words.says+`"`,
				`[...document.querySelectorAll("#offer button")].map((b) => b.textContent).join("|") === "`+words.ask+`|`+words.stay+`"`)
			j.fits()
			j.clips()
			j.shot("offer")
			j.do(chromedp.Click("#offer .plain"))
			j.sees(`document.getElementById("offer").hidden`)
			j.do(chromedp.Reload())
			j.sees(`document.querySelectorAll(".message").length === 2`, `document.getElementById("by").textContent !== ""`, `document.getElementById("offer").hidden`)
			eval[any](j, `localStorage.removeItem("molar.declined"); dispatchEvent(new Event("focus"))`)
			j.sees(`!document.getElementById("offer").hidden`)
			j.do(chromedp.Click("#offer .primary"))
			j.sees(`document.getElementById("who").textContent === "home"`, `document.getElementById("offer").hidden`, `document.querySelectorAll(".message").length === 0`)
			j.ask("look again")
			j.sees(idle)
			j.host.mu.Lock()
			defer j.host.mu.Unlock()
			first, second := j.host.turns[0], j.host.turns[1]
			if second.Assistant != "home" || second.ConversationID == first.ConversationID {
				t.Errorf("the next question went to %q in %q, the first to %q in %q", second.Assistant, second.ConversationID, first.Assistant, first.ConversationID)
			}
		})
	}
}

// The settings page shows the provider that answers, and no model for a provider that cannot
// answer. A provider that needs no key is not shown as missing one.
func TestConfigPage_WhoAnswers(t *testing.T) {
	t.Parallel()
	for language, words := range map[string]struct{ now, answers, none, missing, key, down string }{
		"en": {"Now answering: scripted (openai)", "answers now", "none is sent", "no key", "set GEMINI_API_KEY, then restart molar", "does not answer"},
		"vi": {"Đang trả lời: scripted (openai)", "đang trả lời", "không gửi khóa", "chưa có khóa", "đặt GEMINI_API_KEY, rồi khởi động lại molar", "không trả lời"},
	} {
		t.Run(language, func(t *testing.T) {
			t.Parallel()
			host := newChatHost()
			cfg := host.config(t)
			cfg.Operations = operated(t, play(nil)).Operations
			cfg.Operations.Settings = func() web.Settings { return web.Settings{} }
			cfg.Hints.Provider = func(_ context.Context, q web.Selection) (name, model, why string, err error) {
				if q.Provider == "offline" {
					return "offline", "", "it is asked for", nil
				}
				return "openai", "scripted", "it answers", nil
			}
			j := openPages(t, language, cfg)
			j.host = host
			for _, l := range []look{{"1280-light", 1280, 1100, "light"}, {"360-dark", 360, 1400, "dark"}} {
				j.do(l.see(), chromedp.Navigate(j.url+"/config"))
				j.sees(`document.querySelectorAll(".connection").length === 4`, `document.getElementById("answers").textContent === "`+words.now+`"`)
				for card, says := range map[string][]string{
					"openai": {words.answers, "scripted", "scripted-small", words.none}, "gemini": {words.missing, words.key}, "ollama": {words.down, "nobody listens"},
				} {
					got := eval[string](j, `document.getElementById("provider-`+card+`").innerText`)
					for _, want := range says {
						if !strings.Contains(got, want) {
							t.Errorf("%s does not say %q: %s", card, want, got)
						}
					}
					if card != "openai" && strings.Contains(got, "scripted") {
						t.Errorf("%s names a model that does not answer: %s", card, got)
					}
				}
				j.fits()
				j.do(shoot(t, "settings-"+language+"-"+l.name))
			}
			eval[any](j, `document.getElementById("provider").value = "openai"; document.getElementById("provider").dispatchEvent(new Event("change"))`)
			j.sees(`document.getElementById("chat-model").placeholder === "scripted"`)
			eval[any](j, `document.getElementById("provider").value = "offline"; document.getElementById("models").requestSubmit()`)
			j.sees(`!document.getElementById("answers").textContent.includes("scripted")`)
		})
	}
}

// Faults of the config file are shown, with their line, on the pages of people who may change it,
// as long as they exist.
func TestPages_FaultsOfTheFile(t *testing.T) {
	t.Parallel()
	const fault = `/etc/molar/molar.yaml:7: not readable as YAML: mapping key "mcpServers" already defined at [3:1]`
	for language, words := range map[string]struct{ head, fault, restart string }{
		"en": {"There is a fault in /etc/molar/molar.yaml.", fault, "take effect when molar is started again: llm.provider"},
		"vi": {"Tệp /etc/molar/molar.yaml có lỗi.", `/etc/molar/molar.yaml:7: không đọc được theo YAML: khóa "mcpServers" đã có ở dòng 3`, "có hiệu lực khi khởi động lại molar: llm.provider"},
	} {
		t.Run(language, func(t *testing.T) {
			t.Parallel()
			host := newChatHost()
			cfg := host.config(t)
			cfg.Operations = operated(t, play(nil)).Operations
			j := openPages(t, language, cfg)
			j.host = host
			file := func(f web.ConfigFile) {
				host.mu.Lock()
				defer host.mu.Unlock()
				f.Path = "/etc/molar/molar.yaml"
				host.file = f
			}
			for _, page := range []string{"/tools", "/config"} {
				file(web.ConfigFile{})
				j.do(chromedp.EmulateViewport(360, 900), chromedp.Navigate(j.url+page))
				boxes := []string{"#file-state"}
				if page == "/tools" {
					j.sees(`document.querySelector(".tool")`)
					eval[any](j, `document.getElementById("pasted").value = '{"mcpServers": {"notes": {"command": "npx"}}}'; document.getElementById("attach").requestSubmit()`)
					j.sees(`document.querySelector("#attaching .code")`)
					boxes = append(boxes, "#attaching .file-state")
				}
				file(web.ConfigFile{Faults: []string{fault}})
				for _, box := range boxes {
					j.sees(`document.querySelector("`+box+` .note.bad p")?.textContent.startsWith("`+words.head+`")`,
						`document.querySelector("`+box+` .faults li").textContent === '`+words.fault+`'`)
				}
				j.fits()
				j.do(shoot(t, "fault-"+language+"-"+page[1:]))
				file(web.ConfigFile{NeedsRestart: []string{"llm.provider"}})
				for _, box := range boxes {
					j.sees(`!document.querySelector("`+box+` .note.bad")`, `document.querySelector("`+box+` .note.warn").textContent.includes("`+words.restart+`")`)
				}
				file(web.ConfigFile{})
				j.sees(`!document.querySelector("#file-state .note")`)
			}
		})
	}
}

// The page shows where in the file its text belongs.
func TestToolsPage_Places(t *testing.T) {
	t.Parallel()
	for language, want := range map[string]map[string]string{
		"en": {
			"new": "Save this as /m.yaml.", "end": "Add this to the end of /m.yaml, and save it.",
			"below":   "Put this into /m.yaml, right below line 4 with “mcpServers:”, and save it.",
			"instead": "Put this in the place of line 4 of /m.yaml with “mcpServers”, and save it.",
			"inside":  "Put this into /m.yaml, right behind the “{” of mcpServers in line 4, and save it.",
		},
		"vi": {
			"new": "Hãy lưu phần này thành /m.yaml.", "end": "Hãy thêm phần này vào cuối /m.yaml rồi lưu.",
			"below":   "Hãy chèn phần này vào /m.yaml, ngay dưới dòng 4 có “mcpServers:”, rồi lưu.",
			"instead": "Hãy thay dòng 4 có “mcpServers” trong /m.yaml bằng phần này rồi lưu.",
			"inside":  "Hãy chèn phần này vào /m.yaml, ngay sau dấu “{” của mcpServers ở dòng 4, rồi lưu.",
		},
	} {
		t.Run(language, func(t *testing.T) {
			t.Parallel()
			host := newChatHost()
			cfg := host.config(t)
			cfg.Operations = operated(t, play(nil)).Operations
			cfg.Operations.ImportServers = func(text string) (web.Imported, error) {
				if text == "none" {
					return web.Imported{File: "/m.yaml", Place: web.PlaceEnd, YAML: "# left out", LeftOut: []string{"a"}}, nil
				}
				return web.Imported{File: "/m.yaml", Place: text, Line: 4, YAML: "  notes:\n    command: npx\n", Servers: []string{"notes"}}, nil
			}
			j := openPages(t, language, cfg)
			j.host = host
			j.do(chromedp.EmulateViewport(360, 900), chromedp.Navigate(j.url+"/tools"))
			j.sees(`document.querySelector(".tool")`)
			paste := func(text string) {
				eval[any](j, fmt.Sprintf(`document.getElementById("pasted").value = %q; document.getElementById("attach").requestSubmit()`, text))
			}
			for place, says := range want {
				paste(place)
				j.sees(`document.querySelector("#attaching .placed")?.textContent === "` + says + `"`)
			}
			j.fits()
			j.shot("place-" + language)
			paste("none")
			j.sees(`document.querySelector("#attaching .code")?.textContent === "# left out"`, `!document.querySelector("#attaching .placed")`)
		})
	}
}
