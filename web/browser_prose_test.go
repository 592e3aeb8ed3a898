package web_test

import (
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
	j.sees(`document.querySelector(".assistant .listing")`, `document.querySelector(".prose math mfrac")`)
	for what, want := range map[string]string{
		`getComputedStyle(document.querySelector("td:nth-child(2)")).textAlign`:                                                                  "right",
		`[...document.querySelectorAll(".prose input")].map((i) => i.checked + " " + i.disabled + " " + i.ariaLabel).join()`:                     "true true done,false true open",
		`document.querySelector(".prose .formula").textContent.trim() + document.querySelectorAll(".prose .display mfrac").length`:               "F=ma1",
		`document.querySelector('.prose a[href$="molar.png"]').textContent + document.querySelectorAll(".prose img").length`:                     "A molar0",
		`[...document.querySelectorAll(".listing .head span")].map((s) => s.textContent).join()`:                                                 "JSON,Go,Mermaid diagram",
		`document.querySelector(".prose .language-go .code-keyword").textContent`:                                                                "func",
		`document.querySelector(".prose sup button").title`:                                                                                      "Twice a year, as a rule.",
		`document.querySelector(".prose sup button").textContent + document.querySelector(".footnote > sup").textContent`:                        "11",
		`(document.querySelector(".prose sup button").click(), document.activeElement.className)`:                                                "footnote",
		`(navigator.clipboard.writeText = async (x) => { window.copied = x; }, document.querySelectorAll(".listing button")[3].click(), copied)`: "graph LR; pain --> dentist",

		`(URL.createObjectURL = (b) => { window.saved = b; return "#"; }, HTMLAnchorElement.prototype.click = function () { window.savedAs = this.download; }, document.querySelectorAll(".listing button")[2].click(), savedAs + " " + saved.size)`: "diagram.mmd 27",
	} {
		if got := eval[string](j, what); got != want {
			t.Errorf("%s is %q, want %q", what, got, want)
		}
	}
	j.shot("prose")
}
