package web_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// A state is a page, with the steps that lead to one of its states.
type state struct {
	name, path string
	steps      []chromedp.Action[chromedp.Void]
	// anew is set if scripts use the size of the window, so that the page has to be loaded again
	// for each look. Other pages are loaded once, since only styles change them.
	anew bool
}

func states(store *fullStore) []state {
	type steps = []chromedp.Action[chromedp.Void]
	return []state{
		{name: "chat", path: "/", steps: steps{until(`document.querySelector("#list a")`)}},
		{name: "chat-answered", path: "/", steps: steps{
			until(`document.querySelector("#list a")`),
			js(`document.getElementById("question").value = "Does it need a check?"; document.getElementById("form").requestSubmit()`),
			until(`document.querySelector(".assistant:not(.waiting)")`),
			js(`for (const d of document.querySelectorAll("details")) d.open = true`),
		}},
		{name: "chat-asked-again", path: "/", steps: steps{
			js(`document.getElementById("question").value = "Does it need a check?"; document.getElementById("form").requestSubmit()`),
			until(`document.querySelector(".assistant:not(.waiting)")`),
			js(`document.querySelector(".assistant .actions button:nth-of-type(2)").click()`),
			until(`document.querySelector("article.user[hidden]") && !document.querySelector(".waiting")`),
			js(`document.querySelectorAll(".user:not([hidden]) .actions button")[1].click()`),
		}},
		{name: "chat-why", anew: true, path: "/", steps: steps{
			js(`document.getElementById("question").value = "Does it need a check?"; document.getElementById("form").requestSubmit()`),
			until(`document.querySelector(".assistant:not(.waiting) a[href^='/turn']")`),
			js(`document.querySelector(".assistant a[href^='/turn']").click()`),
			until(`document.querySelector("dialog[open], aside.why, #why:not([hidden])")`),
		}},
		{name: "chat-menus", anew: true, path: "/", steps: steps{
			until(`document.querySelector("#list a")`), js(`document.getElementById("menu").click(); document.querySelector("#list button").click()`),
			until(`document.querySelector("#more:popover-open")`),
		}},
		{name: "chat-assistants", anew: true, path: "/", steps: steps{js(`document.getElementById("picker").click()`), until(`document.querySelector("#assistants:popover-open button")`)}},
		{name: "config", path: "/config", steps: steps{until(`document.querySelectorAll(".connection").length === 4 && document.querySelector("#settings table")`)}},
		{name: "config-tested", path: "/config", steps: steps{
			until(`document.querySelectorAll(".connection").length === 4`),
			js(`document.querySelector("#provider-ollama button").click()`), until(`document.querySelector("#provider-ollama .chips button")`),
			js(`document.querySelector("#provider-gemini button").click()`), until(`document.querySelector("#provider-gemini .note.bad")`),
		}},
		{name: "tools", path: "/tools", steps: steps{until(`document.querySelectorAll(".tool").length === 4 && document.querySelector("#calls table") && document.querySelectorAll(".server").length === 3 && document.querySelectorAll("#knowledge article").length === 2`), js(`document.querySelector("#knowledge details").open = true`)}},
		{name: "tools-open", path: "/tools", steps: steps{
			until(`document.querySelectorAll(".tool").length === 4`),
			js(`document.querySelector(".tool .open").click(); document.querySelector(".server details").open = true`),
			js(`document.querySelector(".tool [id$='-0']").value = "Hoa"; document.querySelector(".tool form").requestSubmit()`),
			until(`document.querySelector(".tool .result .code")`),
		}},
		{name: "tools-attach", path: "/tools", steps: steps{
			until(`document.querySelectorAll(".tool").length === 4`),
			js(`document.getElementById("pasted").value = "https://mcp.example.org/mcp"; document.getElementById("attach").requestSubmit()`),
			until(`document.querySelector("#attaching .code")`),
		}},
		{name: "turn", path: "/turn?id=t1", steps: steps{until(`document.querySelectorAll(".fall li").length === 10`), js(`for (const d of document.querySelectorAll(".why details")) d.open = true`)}},
		{name: "document", path: "/knowledge/handbook/rules/leave.md#annual-leave", steps: steps{until(`document.querySelectorAll(".part").length === 3 && document.querySelector(".found #here")`)}},
		{name: "document-changed", path: "/knowledge/handbook/rules/leave.md#gone", steps: steps{until(`document.querySelector("#gone .note")`)}},
		{name: "document-missing", path: "/knowledge/handbook/none.md", steps: steps{until(`document.querySelector("#document .note.bad")`)}},
		{name: "turn-choose", path: "/turn", steps: steps{until(`document.querySelector("#id") && document.querySelector("table")`)}},
		{name: "turn-missing", path: "/turn?id=gone", steps: steps{until(`document.querySelector("#trace .note.bad")`)}},
		{name: "turn-store-down", path: "/turn?id=t1", steps: steps{
			store.turn(true), chromedp.Reload(), until(`document.querySelector("#trace .note.bad button")`),
			store.turn(false),
		}},
	}
}

// TestPages_Look shows each page in each state, size, colour scheme and language, stores the
// pictures as artefacts, and checks each with axe-core.
func TestPages_Look(t *testing.T) {
	t.Parallel()
	axe := axeSource(t)
	for at, language := range []string{"en", "vi"} {
		var seen []look
		for i, l := range looks() {
			if i%2 == (i/2+at)%2 { // each size in each language in one colour scheme, which the other language has in the other
				seen = append(seen, l)
			}
		}
		t.Run(language, func(t *testing.T) {
			t.Parallel()
			cfg, store := fullConfig(t, toolTurn())
			ts := live(t, cfg)
			ctx := browser(t, language)
			for _, s := range states(store) {
				for i, l := range seen {
					name := fmt.Sprintf("%s-%s-%s", s.name, language, l.name)
					var reach []chromedp.Action[chromedp.Void]
					if i == 0 || s.anew {
						reach = append([]chromedp.Action[chromedp.Void]{chromedp.Navigate(ts.URL + s.path)}, s.steps...)
					}
					if err := chromedp.Do(ctx, append([]chromedp.Action[chromedp.Void]{l.see()}, reach...)...); err != nil {
						t.Fatalf("%s: %v", name, err)
					}
					if err := chromedp.Do(ctx, until(`document.documentElement.lang === "`+language+`"`), fitsWidth(name), shoot(t, name)); err != nil {
						t.Error(err)
					}
					judge(ctx, t, axe, name)
				}
			}
		})
	}
}

// axeSource returns the script of axe-core; empty if it is not installed.
func axeSource(t *testing.T) string {
	t.Helper()
	source, err := os.ReadFile(filepath.Join("..", ".cache", "npm", "node_modules", "axe-core", "axe.min.js"))
	if err != nil {
		t.Run("axe-core", func(t *testing.T) {
			t.Skipf("axe-core is not installed, so accessibility is not judged; install it with .ci/npm (%v)", err)
		})
		return ""
	}
	return string(source)
}

// loadAxe runs the script of axe-core in a page that does not have it yet.
func loadAxe(axe string) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		has, err := chromedp.Run(ctx, chromedp.Evaluate[bool](`"axe" in window`))
		if err != nil || has {
			return err
		}
		return chromedp.Do(ctx, js(axe))
	})
}

// judge checks the page with axe-core, and fails the test for each finding.
func judge(ctx context.Context, t *testing.T, axe, name string) {
	t.Helper()
	if axe == "" {
		return
	}
	const ask = `axe.run(document, {resultTypes: ["violations"]}).then((r) => JSON.stringify({
		passes: r.passes.length,
		found: r.violations.map((v) => ({id: v.id, impact: v.impact, nodes: v.nodes.map((n) => n.target.join(" ") + " " + (n.any[0]?.message ?? ""))})),
	}))`
	if err := chromedp.Do(ctx, loadAxe(axe)); err != nil {
		t.Fatalf("%s: load axe-core: %v", name, err)
	}
	report, err := chromedp.Run(ctx, chromedp.Evaluate[string](ask, chromedp.EvalAwaitPromise))
	if err != nil {
		t.Fatalf("%s: run axe-core: %v", name, err)
	}
	var r struct {
		Passes int
		Found  []struct {
			ID, Impact string
			Nodes      []string
		}
	}
	if err := json.Unmarshal([]byte(report), &r); err != nil {
		t.Fatal(err)
	}
	counts := map[string]int{}
	for _, f := range r.Found {
		counts[f.Impact]++
		line := fmt.Sprintf("%s: axe: %s (%s): %s", name, f.ID, f.Impact, strings.Join(f.Nodes, " | "))
		t.Error(line)
	}
	t.Logf("axe | %-36s | %2d rules passed | critical %d | serious %d | moderate %d | minor %d",
		name, r.Passes, counts["critical"], counts["serious"], counts["moderate"], counts["minor"])
}
