package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/chromedp/chromedp"

	"molar/agent/answer"
	"molar/internal/testkit/models"
)

// askedBranches are the questions of a conversation with the turns that they follow.
func askedBranches(t *testing.T, s *served, id string) (turns []string, parents []string) {
	t.Helper()
	var c conversation
	s.get(t, "/v1/conversations/"+id+"?tree=true", &c)
	for _, m := range c.Messages {
		if m.Role == "user" {
			turns, parents = append(turns, m.TurnID), append(parents, m.ParentTurn)
		}
	}
	return turns, parents
}

func calledIn(trace answer.Trace) []string {
	var names []string
	for _, tool := range trace.Tools {
		if len(tool.Calls) > 0 {
			names = append(names, tool.Name)
		}
	}
	return names
}

// From the trace a person asks a question again without the tool that was called, compares the two turns, and asks
// it with another model, all in the browser and by the real host. Each is another version of the question.
func TestServe_AsksAgainInTheBrowser(t *testing.T) {
	t.Parallel()
	tab := chromiumTab(t)
	model := startModel(t, models.Config{Tool: "get_family_details", Args: json.RawMessage(`{"familyId":"1a955fff-ce01-422f-8bb3-02ab14e8ec47"}`), Tokens: 6})
	config := fmt.Sprintf(`
llm: {provider: ollama}
assistants:
  family: {description: Answers about families., tools: ["family__*"]}
mcpServers:
  family: {command: %q}
`, buildFamily(t))
	s := serveHost(t, writeFile(t, "molar.yaml", config), model)
	const question = "Who belongs to the family 1a955fff-ce01-422f-8bb3-02ab14e8ec47?"
	first := s.ask(t, "family", "chat_again", question)

	b := browserTab{t, tab}
	run, sees := b.run, b.sees
	const answered = `location.pathname === "/" && location.hash === "#chat_again" && document.getElementById("stop").hidden && [...document.querySelectorAll(".assistant:not([hidden])")].at(-1).querySelector('a[href*="before="]')`

	run("open the trace", chromedp.EmulateViewport(1280, 900), chromedp.Navigate(s.url+"/turn?id="+first.molar.TurnID))
	sees(`document.querySelector(".why h3").textContent.startsWith("get_family_details")`)
	run("ask without the tool", chromedp.Click(".why .again"))
	sees(answered)
	turns, parents := askedBranches(t, s, "chat_again")
	if len(turns) != 2 || parents[0] != parents[1] {
		t.Fatalf("the questions are %q after %q", turns, parents)
	}
	var second answer.Trace
	s.get(t, "/v1/turns/"+turns[1], &second)
	if called := calledIn(second); slices.Contains(called, "family__get_family_details") || !slices.Equal(second.Without, []string{"family__get_family_details"}) || second.Question != question {
		t.Errorf("the new turn asked %q without %q and called %q", second.Question, second.Without, called)
	}
	sees(`document.querySelector(".user:not([hidden]) .versions").textContent.includes("2")`)

	run("compare", chromedp.Click(`.assistant:not([hidden]) a[href*="before="]`))
	sees(`location.pathname === "/turn" && [...document.querySelectorAll("td .differs")].some((e) => e.textContent === "family__get_family_details")`)
	sees(`document.querySelector(".summary").textContent.includes("asked without family__get_family_details")`)
	sees(`document.querySelector("#trace").textContent.includes("left out for this question, as the person asked")`)

	run("choose another model", chromedp.Click(".others summary"))
	sees(`document.querySelector(".others button").checkVisibility()`)
	run("ask it", chromedp.Click(".others button"))
	sees(answered)
	turns, _ = askedBranches(t, s, "chat_again")
	if len(turns) != 3 {
		t.Fatalf("the questions are %q", turns)
	}
	var third answer.Trace
	s.get(t, "/v1/turns/"+turns[2], &third)
	if third.Model == second.Model || third.Question != question || len(third.Without) > 0 || !slices.Contains(calledIn(third), "family__get_family_details") {
		t.Errorf("asked %q of %s without %q, which called %q", third.Question, third.Model, third.Without, calledIn(third))
	}

	// From the panel next to the answer it is asked on the same page.
	run("why", chromedp.Evaluate[chromedp.Void](`[...document.querySelectorAll(".assistant:not([hidden]) .actions a[href^='/turn']")].at(-1).click()`))
	sees(`document.querySelector("#why .why .again")`)
	run("ask without the tool", chromedp.Click("#why .why .again"))
	sees(`!document.getElementById("why") && document.querySelectorAll(".user").length > 1`)
	eventually(t, "the fourth version", func() bool { turns, _ := askedBranches(t, s, "chat_again"); return len(turns) == 4 })

	status, body := s.do(t, "POST", "/v1/chat/completions", `{"messages":[{"role":"user","content":"x"}],"molar":{"without":["family__get_family_detail"]}}`)
	var fault struct {
		Error struct{ Message, Param string }
	}
	if err := json.Unmarshal([]byte(body), &fault); err != nil || status != 400 || fault.Error.Param != "molar.without" || fault.Error.Message == "" {
		t.Errorf("an unknown name: %d %s", status, body)
	}
}
