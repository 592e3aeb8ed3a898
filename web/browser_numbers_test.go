package web_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// The page is small. The list of conversations is loaded after it.
func TestChatPage_Load(t *testing.T) {
	host := newChatHost()
	host.fill("k1", "Toothpaste", 2)
	j := newJourney(t, "en", host)
	j.do(chromedp.Navigate(j.url + "/"))
	j.sees(`document.querySelectorAll("#list li").length === 1`)
	const entries = `[...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")]`
	files := eval[int](j, entries+`.filter((e) => !e.name.includes("/v1/")).length`)
	requests := eval[int](j, entries+`.length`)
	size := eval[int](j, entries+`.reduce((sum, e) => sum + e.encodedBodySize + 300, 0)`) // 300 for headers
	t.Logf("%d files, %d requests in all, %d bytes", files, requests, size)
	if files > 6 || requests > 8 || size > 60_000 {
		t.Error("the page is too heavy: want 6 files, 8 requests and 60 kB")
	}
}

// A long conversation is drawn up to its first message, and its end is in view.
func TestChatPage_LongConversation(t *testing.T) {
	host := newChatHost()
	host.fill("k1", "Long", 2000)
	j := newJourney(t, "en", host)
	j.do(chromedp.Navigate(j.url + "/"))
	j.sees(`performance.getEntriesByName("usable").length === 1`)
	j.openAll("k1", 2000)
}

// openAll opens a conversation and waits until all of it is drawn.
func (j *journey) openAll(id string, messages int) {
	j.t.Helper()
	eval[any](j, `location.hash = "#`+id+`"`)
	all := chromedp.Poll[bool](`document.querySelectorAll(".message").length === `+strconv.Itoa(messages),
		chromedp.WithPollingInterval(100*time.Millisecond), chromedp.WithPollingTimeout(time.Minute))
	if _, err := chromedp.Run(j.ctx, all); err != nil {
		j.t.Fatalf("%v: %s", err, eval[string](j, `document.querySelectorAll(".message").length + " in " + document.querySelectorAll(".batch").length`))
	}
	if below := eval[float64](j, `(() => { const log = document.getElementById("log"); return log.scrollHeight - log.scrollTop - log.clientHeight })()`); below > 100 {
		j.t.Errorf("the end of the conversation is %.0f px below what is seen", below)
	}
}
