package web_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/chromedp/chromedp"
)

// The Markdown of an answer keeps its meaning on the page: columns, boxes, notes, formulas, code.
func TestChatPage_Prose(t *testing.T) {
	t.Parallel()
	host := newChatHost()
	host.fill("k1", "Teeth", 2)
	j := newJourney(t, "en", host)
	j.do(chromedp.EmulateViewport(1280, 1900), chromedp.Navigate(j.url+"/#k1"))
	j.sees(`document.querySelector(".assistant .listing")`)
	for what, want := range map[string]string{
		`getComputedStyle(document.querySelector("td:nth-child(2)")).textAlign`:                                                                  "right",
		`[...document.querySelectorAll(".prose input")].map((i) => i.checked + " " + i.disabled + " " + i.ariaLabel).join()`:                     "true true done,false true open",
		`document.querySelector(".prose code.math").textContent`:                                                                                 `\(F = m\,a\)`,
		`document.querySelector(".prose .language-math").textContent`:                                                                            "$$\np = \\frac{F}{A_1}\n$$\n",
		`[...document.querySelectorAll(".listing .head span")].map((s) => s.textContent).join()`:                                                 "JSON,formula (TeX),Go,Mermaid diagram",
		`document.querySelector(".prose .language-go .code-keyword").textContent`:                                                                "func",
		`document.querySelector(".prose sup button").title`:                                                                                      "Twice a year, as a rule.",
		`document.querySelector(".prose sup button").textContent + document.querySelector(".footnote > sup").textContent`:                        "11",
		`document.querySelector(".picture").textContent`:                                                                                         "A molar https://upload.wikimedia.org/molar.pngLoad the picture",
		`(document.querySelector(".prose sup button").click(), document.activeElement.className)`:                                                "footnote",
		`(navigator.clipboard.writeText = async (x) => { window.copied = x; }, document.querySelectorAll(".listing button")[3].click(), copied)`: "graph LR; pain --> dentist",
	} {
		if got := eval[string](j, what); got != want {
			t.Errorf("%s is %q, want %q", what, got, want)
		}
	}
	j.shot("prose")
}

// A picture of another host is loaded only when the reader asks for it, and nothing else is loaded.
func TestChatPage_PictureOnRequest(t *testing.T) {
	t.Parallel()
	var loaded atomic.Int32
	gallery := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		loaded.Add(1)
		if r.Referer() != "" || r.Header.Get("Cookie") != "" {
			t.Errorf("the gallery learns %v", r.Header)
		}
		w.Header().Set("Content-Type", "image/svg+xml")
		_, _ = w.Write([]byte(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"><circle r="4" cx="4" cy="4"/></svg>`))
	}))
	t.Cleanup(gallery.Close)
	host := newChatHost()
	host.fill("k1", "Teeth", 2)
	host.all["k1"][1].Content = "Look: ![a tooth](" + gallery.URL + "/tooth.svg?a=1&b=2)"
	j := newJourney(t, "en", host)
	j.do(chromedp.Navigate(j.url + "/#k1"))
	j.sees(`document.querySelector(".picture button")`)
	if n := loaded.Load(); n != 0 {
		t.Errorf("%d pictures were loaded unasked", n)
	}
	eval[any](j, `document.querySelector(".picture button").click()`)
	j.sees(`document.querySelector(".picture iframe")`)
	for range 200 {
		if loaded.Load() > 0 {
			break
		}
		eval[any](j, `new Promise((done) => { setTimeout(done, 20); })`)
	}
	j.shot("picture")
	if n := loaded.Load(); n != 1 {
		t.Errorf("the picture was loaded %d times", n)
	}
}

// The frame of a picture may load from one host only. There is no frame for an invalid address.
func TestPicture(t *testing.T) {
	h := handler(t, play(nil))
	get := func(of string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/picture?of="+of, nil))
		return w
	}
	w := get("https%3A%2F%2Fevil.test%2Fa.png%22%3E%3Cscript%3Epwn()%3C%2Fscript%3E")
	policy := w.Header().Get("Content-Security-Policy")
	if w.Code != http.StatusOK || !strings.HasSuffix(policy, "; img-src https://evil.test") || strings.Contains(policy, "script") {
		t.Errorf("status %d, policy %q", w.Code, policy)
	}
	if body := w.Body.String(); strings.Contains(body, "<script") {
		t.Errorf("the page holds %s", body)
	}
	for _, bad := range []string{"", "x", "javascript:pwn()", "data:image/svg%2Bxml,x", "https://a.test;script-src%20*/x", "https://user@", "file:///etc/passwd"} {
		if w := get(bad); w.Code != http.StatusNotFound {
			t.Errorf("%q: status %d", bad, w.Code)
		}
	}
}
