package web_test

import (
	"strconv"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/google/go-cmp/cmp"
)

// An answer continues when the reader opens another conversation, and is shown again while it
// streams.
func TestChatPage_ComesBackToAnAnswer(t *testing.T) {
	t.Parallel()
	host := newChatHost()
	host.fill("k1", "Toothpaste", 2)
	j := newJourney(t, "en", host)
	j.do(chromedp.Navigate(j.url + "/"))
	j.ask("slow")
	j.passGate()
	j.sees(`document.querySelector(".prose").textContent.includes("One")`)
	running := `[...document.querySelectorAll("#list a")].find((a) => a.hash === "#` + host.first() + `" && a.querySelector(".dot"))`
	j.do(chromedp.Click("#new"))
	j.sees(idle, `document.querySelectorAll(".message").length === 0`, `!document.getElementById("welcome").hidden`, running)
	j.passGate()
	eval[any](j, `document.querySelector('#list a[href$="/#k1"]').click()`)
	j.sees(`location.hash === "#k1"`, `document.querySelectorAll(".message").length === 2`, idle)
	j.passGate()
	eval[any](j, running+`.click()`)
	j.sees(`document.querySelectorAll(".message").length === 2`, `document.querySelector(".user .text")?.textContent === "slow"`,
		`document.querySelector(".prose")?.textContent.includes("three.")`, `!document.getElementById("stop").hidden`)
	j.do(chromedp.Reload()) // a reload finds it too
	j.sees(`document.querySelector(".user .text")?.textContent === "slow"`, `document.querySelector(".prose")?.textContent.includes("three.")`)
	for range 3 {
		j.passGate()
	}
	j.sees(idle, `document.querySelector(".prose").textContent.includes("seven.")`, `!document.querySelector("#list .dot")`, `location.hash === "#`+host.first()+`"`)
	if diff := cmp.Diff([]string{"slow"}, host.questions()); diff != "" {
		t.Error(diff)
	}
}

// A question that is sent before its conversation is drawn is shown at its end.
func TestChatPage_AsksBeforeItIsDrawn(t *testing.T) {
	t.Parallel()
	host := newChatHost()
	host.fill("k1", "Toothpaste", 2)
	j := newJourney(t, "en", host)
	j.do(chromedp.Navigate(j.url + "/"))
	j.sees(`document.querySelectorAll("#list li").length === 1`)
	eval[any](j, `addEventListener("hashchange", () => {
		document.getElementById("question").value = "hold on";
		document.getElementById("form").requestSubmit();
	}, { once: true }); location.hash = "#k1"; true`)
	j.sees(`document.querySelectorAll(".message").length === 4`)
	if got := eval[string](j, `[...document.querySelectorAll(".user .text")].at(-1).textContent`); got != "hold on" {
		t.Errorf("the last question is %q", got)
	}
	j.passGate()
	j.sees(idle, `document.querySelectorAll(".message").length === 4`)
}

// Many answers can run in the background: they do not use up the browser's few connections.
func TestChatPage_LeavesManyAnswers(t *testing.T) {
	t.Parallel()
	host := newChatHost()
	j := newJourney(t, "en", host)
	j.do(chromedp.Navigate(j.url + "/"))
	const many = 8
	for i := range many {
		j.ask("hold " + strconv.Itoa(i))
		j.sees(`document.querySelector(".prose")?.textContent.includes("One")`, `document.querySelectorAll("#list .dot").length === `+strconv.Itoa(i+1))
		j.do(chromedp.Click("#new"))
		j.sees(`document.querySelectorAll("#list .dot").length === ` + strconv.Itoa(i+1))
	}
	eval[any](j, `document.querySelector('#list a[href$="/#`+host.first()+`"]').click()`)
	j.sees(`document.querySelector(".user .text")?.textContent === "hold 0"`, `document.querySelector(".prose")?.textContent.includes("One")`, `!document.getElementById("stop").hidden`)
	for range many {
		j.passGate()
	}
	j.sees(idle, `document.querySelector(".prose").textContent.includes("seven.")`, `document.querySelectorAll(".message").length === 2`)
}

// A call that was decided elsewhere does not wait for a decision any more, also after a reload.
func TestChatPage_ApprovalElsewhere(t *testing.T) {
	t.Parallel()
	j := newJourney(t, "en", newChatHost())
	j.do(chromedp.Navigate(j.url + "/"))
	j.ask("pay, then wait")
	j.sees(`document.querySelector(".approval .primary")`)
	eval[any](j, `(async () => {
		const [asked] = (await (await fetch("/v1/approvals")).json()).data;
		const body = JSON.stringify({ token: asked.token, decision: "approve" });
		await fetch("/v1/approvals/" + asked.id, { method: "POST", headers: { "Content-Type": "application/json" }, body });
	})(); true`)
	j.sees(`!document.querySelector(".approval")`, `document.querySelector(".call:not(.running)")`, `!document.getElementById("stop").hidden`)
	j.do(chromedp.Reload())
	j.sees(`document.querySelector(".call:not(.running)")`, `!document.querySelector(".approval")`, `!document.getElementById("stop").hidden`)
	j.passGate()
	j.sees(idle, `document.querySelector(".prose").textContent.includes("Paid: true")`)
}

// The trace page shows that a turn is still running, and updates itself.
func TestChatPage_TraceOfARunningTurn(t *testing.T) {
	t.Parallel()
	j := newJourney(t, "en", newChatHost())
	j.do(chromedp.Navigate(j.url + "/"))
	j.ask("hold")
	j.sees(`document.querySelector(".prose")?.textContent.includes("One")`)
	j.do(chromedp.Navigate(j.url + "/turn?id=" + eval[string](j, `JSON.parse(sessionStorage.getItem("molar.turns"))[0].turn`)))
	j.sees(`document.getElementById("trace")?.textContent.includes("still running")`)
	j.passGate()
	j.sees(`document.querySelector("#trace .note")?.textContent.includes("This turn has no trace")`, // this host has no traces
		`document.querySelector("#trace .answer")?.textContent.includes("One")`, `!document.querySelector("#trace .why")`)
}
