package live

// again is the number of tries of a check that a model may pass by chance.
const again = 2

// checks returns all checks, in the order in which they run.
func checks(c Config) []check {
	return []check{
		{name: "calls a tool", tries: again, calls: 1, tokens: 400, vital: true, tools: true, run: callsTool},
		{name: "arguments", tries: again, calls: 1, tokens: 500, vital: true, tools: true, run: fillsArguments},
		{name: "exact texts", tries: again, calls: 1, tokens: 450, tools: true, run: copiesExactly},
		{name: "two calls at once", tries: again, calls: 2, tokens: 1000, tools: true, run: callsTwo},
		{name: "no needless call", calls: 3, tokens: 1200, tools: true, run: callsNothing},
		{name: "one of 30 tools", tries: again, calls: 1, tokens: 3000, tools: true, run: choosesOne},
		{name: "missing argument", calls: 1, tokens: 400, run: asksBack},
		{name: "uses a result", tries: again, calls: 2, tokens: 1000, vital: true, tools: true, run: usesResult},
		{name: "two steps", tries: again, calls: 3, tokens: 1600, tools: true, run: chains},
		{name: "error of a tool", tries: again, calls: 3, tokens: 1500, tools: true, run: recovers},
		{name: "stops", calls: 4, tokens: 2200, vital: true, tools: true, run: stops},
		{name: "no calls when told", calls: 2, tokens: 1000, tools: true, run: obeysForbidden},
		{name: "calls as text", tools: true, run: printsCalls},
		{name: "keeps a schema", tries: again, calls: 1, tokens: 300, run: keepsSchema},
		{name: "language", calls: 3, tokens: 700, run: keepsLanguage},
		judging(c),
		{name: "summary", calls: 1, tokens: 400, run: summarises},
		{name: "picture", calls: 1, tokens: 500, run: seesPicture},
		{name: "thinking", calls: 2, tokens: 1500, run: thinks},
		{name: "speed", calls: 1, tokens: 500, run: measureSpeed},
		{name: "prompt cache", calls: 2, tokens: 5000, run: caches},
		reading(c),
	}
}
