package web_test

import (
	"testing"

	"github.com/chromedp/chromedp"
)

// If the default assistant may not call the servers that a reload has attached, one click begins a
// conversation with the assistant that may.
func TestToolsPage_OffersTheAssistant(t *testing.T) {
	t.Parallel()
	j := newJourney(t, "en", newChatHost())
	j.do(chromedp.Navigate(j.url+"/"), chromedp.Navigate(j.url+"/tools"), chromedp.Click("#reload"))
	j.sees(`document.getElementById("reloaded").textContent.includes("Taken over: family.")`)
	j.do(chromedp.Click("#offer button"), chromedp.WaitVisible("#picker"))
	j.sees(`document.getElementById("model")?.value === "home"`)
}
