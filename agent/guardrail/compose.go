package guardrail

import "molar/agent/language"

// How much messages count that were put together for the training.
const (
	composedAs = 0.1
)

// links join two requests into one message.
func links(lang string) []string {
	if lang == language.Vietnamese {
		return []string{". ", ", ", " và ", ". Tiện thể ", ", còn ", " rồi ", ". À ", ", nhân tiện ", "? ", "\n", ", xong thì ", ". Ngoài ra ", " - "}
	}
	return []string{". ", ", ", " and ", ". Also, ", ", then ", ". P.S. ", "? ", ". By the way, ", "\n", ", but first ", "; ", " and after that ", " - "}
}

// compose puts pairs of examples together: a question of the topic with another
// request is none of the topic, two questions of the topic are. Such messages are what
// people try, and what labelled lines never hold enough of.
func compose(examples []Example) []Example {
	pools := map[string][]Example{}
	for _, e := range examples {
		if e.InDomain && !e.Follows() && e.Kind != "greeting" {
			pools[e.Lang] = append(pools[e.Lang], e)
		}
	}
	var out []Example
	chance := newGenerator(3)
	for _, e := range examples {
		pool := pools[e.Lang]
		if len(pool) == 0 || e.Kind == "greeting" || e.Kind == "adversarial" || e.Follows() && e.InDomain {
			continue
		}
		if e.InDomain && chance.below(2) == 0 {
			continue
		}
		first, second := pool[chance.below(len(pool))].Text, e.Text
		if chance.below(3) == 0 {
			first, second = second, first
		}
		link := links(e.Lang)[chance.below(len(links(e.Lang)))]
		out = append(out, Example{Text: first + link + second, Lang: e.Lang, InDomain: e.InDomain, Kind: "composed"})
	}
	return out
}
