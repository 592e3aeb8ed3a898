package web_test

import (
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// The panel next to an answer shows why each tool was called or not, and returns the focus when it
// closes. It is checked at four sizes.
func TestChatPage_Why(t *testing.T) {
	const shown = `[...document.querySelectorAll("#why [data-kind]")].map((e) => e.dataset.kind).join()`
	t.Parallel()
	axe := axeSource(t)
	for _, language := range []string{"en", "vi"} {
		t.Run(language, func(t *testing.T) {
			t.Parallel()
			cfg, _ := fullConfig(t, toolTurn())
			j := openPages(t, language, cfg)
			for _, width := range []int64{320, 768, 1280, 1600} {
				j.do(chromedp.EmulateViewport(width, 900), chromedp.Navigate(j.url+"/"), chromedp.SendKeys("#question", "Is a check due?"+kb.Enter))
				j.sees(idle, `document.querySelector('.assistant .actions a[href^="/turn"]')`)
				eval[any](j, `document.querySelector('.assistant .actions a[href^="/turn"]').click()`)
				j.sees(`document.querySelector("#why .why")`, `document.activeElement.closest("#why header")`)
				j.fits()
				j.shot(language + "-" + map[int64]string{320: "320", 768: "768", 1280: "1280", 1600: "1600"}[width])
				judge(j.ctx, t, axe, "chat-why-"+language)
				if got := eval[string](j, shown); got != "called,offered,withheld,withheld" {
					t.Errorf("the panel lists %s", got)
				}
				eval[any](j, `document.querySelector("#why [data-kind=withheld]").open = true`)
				j.sees(`document.querySelector("#why [data-kind=withheld] li").textContent === "add_note family"`)
				j.do(chromedp.KeyEvent(kb.Escape))
				j.sees(`!document.getElementById("why")`, `document.activeElement.getAttribute("href")?.startsWith("/turn")`)
			}
		})
	}
}
