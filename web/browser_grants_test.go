package web_test

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"molar/agent"
	"molar/agent/answer"
	"molar/schemas"
	"molar/toolhandler"
)

// grantsOf is a store of grants in memory.
type grantsOf struct {
	mu  sync.Mutex
	all []schemas.Grant
}

func (g *grantsOf) give(one schemas.Grant, scope toolhandler.Scope) {
	g.mu.Lock()
	defer g.mu.Unlock()
	one.ID, one.GivenAt = "g1", time.Now()
	if scope == toolhandler.InConversation {
		one.ConversationID = "k1"
	}
	g.all = append(g.all, one)
}

func (g *grantsOf) ListGrants(context.Context, string) ([]schemas.Grant, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return append([]schemas.Grant{}, g.all...), nil
}

func (g *grantsOf) DeleteGrant(_ context.Context, _, id string) (bool, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.all) == 0 || g.all[0].ID != id {
		return false, nil
	}
	g.all = nil
	return true, nil
}

// A permission beyond one call is named before it is given, reported afterwards and listed, and can
// be revoked in both places.
func TestChatPage_Grants(t *testing.T) {
	t.Parallel()
	host, grants := newChatHost(), &grantsOf{}
	var once atomic.Bool // only the first call has a wider destination
	cfg := host.config(t)
	cfg.Grants = grants
	cfg.Agent = script(func(ctx context.Context, turn agent.Turn, yield func(answer.Event) bool) error {
		yield(answer.Event{Kind: answer.KindStart, Start: &answer.Start{TurnID: turn.ID, ConversationID: "k1", Assistant: "dental", Created: time.Now()}})
		yield(toolCall())
		ask := agent.Ask{
			Call:         schemas.ToolCall{ID: call.ID, Function: schemas.FunctionCall{Name: "mail__send", Arguments: `{"to":"ann@example.com"}`}},
			Tool:         schemas.Tool{ToolInfo: schemas.ToolInfo{Name: "mail__send", ToolName: "send", Server: "mail"}},
			Reason:       toolhandler.Reason{Rule: toolhandler.RuleOrder, Orders: []schemas.Origin{schemas.FileOrigin("letter.pdf")}},
			Destinations: []toolhandler.Destination{{ID: "exact", Arguments: map[string]string{"to": "ann@example.com"}}},
			Scopes:       []toolhandler.Scope{toolhandler.Once, toolhandler.InConversation, toolhandler.Always},
			Expires:      time.Now().Add(time.Minute), Check: func(string) error { return nil },
		}
		if wide := (toolhandler.Destination{ID: "host to example.com", Width: schemas.WidthHost, Arguments: map[string]string{"to": "example.com"}}); !once.Swap(true) {
			ask.Destinations = append(ask.Destinations, wide)
		}
		d, err := turn.Approver.Approve(ctx, ask)
		if err != nil {
			return err
		}
		to := slices.IndexFunc(ask.Destinations, func(to toolhandler.Destination) bool { return to.ID == d.Destination })
		grants.give(ask.Destinations[max(0, to)].Grant(ask.Tool.Name, ""), d.Scope)
		yield(toolResult())
		yield(answer.Event{Kind: answer.KindText, Text: "Sent as " + string(d.Scope)})
		yield(answer.Event{Kind: answer.KindDone, Done: &answer.Done{}})
		return nil
	})
	j := openPages(t, "en", cfg)
	j.host = host
	press := func(label string) {
		t.Helper()
		eval[any](j, `[...document.querySelectorAll("button")].filter((b) => b.textContent === "`+label+`").at(-1).click()`)
	}
	const subject, wide = `mail__send: to ann@example.com`, `mail__send: any address at the host, to example.com`
	j.do(chromedp.Navigate(j.url + "/"))
	j.ask("write to Ann")
	j.sees(`[...document.querySelectorAll(".approval option")].map((o) => o.textContent).join("|") === "`+subject+`|`+wide+`"`,
		`document.querySelector(".approval .asked").textContent === "Send to ann@example.com."`,
		`document.querySelector(".approval").textContent.includes("has read text from the file letter.pdf")`,
		`document.querySelector(".approval").textContent.includes("Goes to ann@example.com through the service “mail”")`,
		`document.querySelector(".approval details").open`,
		`document.querySelector(".approval .asked").getBoundingClientRect().top > document.querySelector(".approval h3").getBoundingClientRect().bottom - 1`,
		`document.querySelector(".approval select").getBoundingClientRect().right < document.querySelector(".approval").getBoundingClientRect().right`)
	j.shot("three-ways")
	// On a phone the decision stays in view, below what is asked, and nothing covers it.
	j.do(chromedp.EmulateViewport(360, 740))
	j.sees(`[...document.querySelectorAll(".approval > .row:last-child button")].every((b) => { const r = b.getBoundingClientRect(); return document.elementFromPoint(r.left + r.width / 2, r.bottom - 4) === b; })`,
		`document.querySelector(".approval > .row:last-child").textContent === "Approve onceRefuse"`)
	j.shot("three-ways-phone")
	eval[any](j, `document.querySelector(".approval select").value = "host to example.com"`)
	press("In this conversation")
	j.sees(idle, `document.body.textContent.includes("Allowed in this conversation: `+wide+`")`, `document.querySelector(".prose").textContent.includes("Sent as conversation")`)
	j.sees(`[...document.querySelectorAll("button")].some((b) => b.textContent === "Take back")`)
	j.shot("taken")
	press("Take back")
	j.sees(`document.body.textContent.includes("` + wide + ` asks again.")`)
	j.ask("once more")
	j.sees(`document.querySelector(".approval strong")?.textContent === "` + subject + `"`)
	press("Always")
	j.sees(idle, `document.body.textContent.includes("Always allowed: `+subject+`")`)
	j.do(chromedp.Navigate(j.url + "/tools"))
	j.sees(`document.querySelector(".grant")?.textContent.includes("` + subject + ` (always)")`)
	j.shot("listed")
	press("Take back")
	j.sees(`document.body.textContent.includes("Nothing is allowed beyond a single call.")`)
}
