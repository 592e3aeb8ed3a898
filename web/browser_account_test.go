package web_test

import (
	"slices"
	"testing"

	"github.com/chromedp/chromedp"
)

// A person ends a session elsewhere, and erases everything: only after their name was typed.
func TestAccountPage(t *testing.T) {
	t.Parallel()
	api := newDeskAPI()
	j := openDesk(t, "en", api)
	j.do(chromedp.Navigate(j.url + "/account"))
	j.sees(`document.querySelector("#who .facts").textContent.includes("Lan")`, `document.querySelector("#who .facts").textContent.includes("support")`,
		`document.querySelector("#usage tbody tr:nth-child(2)").textContent === "This month41,2003,8001.25"`, `!document.getElementById("grants-part").hidden`, `document.getElementById("logins-part").hidden`,
		`document.querySelector('#data a[download]').getAttribute("href") === "/v1/account/export"`, `document.querySelectorAll("#sessions li").length === 2`)
	j.do(js(`[...document.querySelectorAll("#sessions button")].at(-1).click()`))
	j.sees(`document.querySelectorAll("#sessions li").length === 1`, `document.getElementById("said").textContent === "The session has ended."`)
	j.sees(`document.querySelector("#erase button").disabled`)
	j.do(chromedp.SendKeys("#confirm", "La"))
	j.sees(`document.querySelector("#erase button").disabled`)
	j.do(chromedp.SendKeys("#confirm", "n\r"))
	j.sees(`document.querySelector("main > section h2").textContent === "Everything is erased"`, `document.activeElement.tagName === "H2"`, `document.querySelectorAll(".kept li").length === 4`,
		`document.querySelector("main > section").textContent.includes("office/corrections/lunch.md, t2")`)
	api.mu.Lock()
	defer api.mu.Unlock()
	if want := []string{"DELETE /v1/account/sessions/s2 null", `POST /v1/account/erase {"confirm":"Lan"}`}; !slices.Equal(api.sent, want) || !api.erased {
		t.Errorf("sent %q", api.sent)
	}
}

// On a host without people and keys the page says so, and asks for nothing of a person.
func TestAccountPage_OfNobody(t *testing.T) {
	t.Parallel()
	api := newDeskAPI()
	api.me = `{"id":"","scopes":["chat","admin","review","metrics"]}`
	j := openDesk(t, "vi", api)
	j.do(chromedp.Navigate(j.url + "/account"))
	j.sees(`document.querySelector("#who .note").textContent.startsWith("Máy chủ này không phân biệt")`, `document.getElementById("data").closest("section").hidden`)
}
