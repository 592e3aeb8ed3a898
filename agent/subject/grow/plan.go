package grow

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"

	"molar/agent/subject"
)

// A Plan divides a topic, so that the lines cover all of it and all that is near it. A person may
// change it between two runs.
type Plan struct {
	// Aspects are parts of the topic, Neighbours other subjects, the nearest first.
	Aspects    []string `json:"aspects"`
	Neighbours []string `json:"neighbours"`
	// Names are words and phrases that hardly occur outside the topic, by language.
	Names map[string][]string `json:"names"`
	// Questions are some to begin with, by language.
	Questions map[string][]string `json:"first_questions,omitempty"`
}

// How many parts and names a plan should have, and has at most.
const (
	wantedParts, mostParts = 48, 100
	wantedNames, mostNames = 120, 600
	fewestParts            = 4
)

func planPrompt(t subject.Topic) string {
	return fmt.Sprintf(`An assistant keeps to one subject:
%s
Divide the subject and what is around it. Answer as one JSON object, nothing else:
{"aspects": [%d parts of the subject, a few English words each, that together cover all of it],
 "neighbours": [%d other subjects, a few English words each, that people might ask the same assistant or that share words, places or people with the subject; the nearest first, the last six from everyday life],
 "names": {LANGUAGE: [%d words or short phrases that people use in the subject and hardly anywhere else]},
 "first_questions": {LANGUAGE: [4 typical questions]}}
LANGUAGE is each of: %s.`, described(t), wantedParts, wantedParts, wantedNames, strings.Join(t.Languages, ", "))
}

// described returns the topic's description in each language.
func described(t subject.Topic) string {
	var b strings.Builder
	for _, lang := range t.Languages {
		_, _ = fmt.Fprintf(&b, "(%s) %s\n", lang, t.Voices[lang].Description)
	}
	return b.String()
}

// readPlan reads a model's plan, also between other words.
func readPlan(answer string) (Plan, error) {
	from, to := strings.Index(answer, "{"), strings.LastIndex(answer, "}")
	if from < 0 || to < from {
		return Plan{}, errors.New("the answer has no JSON object")
	}
	var p Plan
	if err := json.Unmarshal([]byte(answer[from:to+1]), &p); err != nil {
		return p, err
	}
	p.Aspects, p.Neighbours = tidy(p.Aspects, mostParts), tidy(p.Neighbours, mostParts)
	for lang := range p.Names {
		p.Names[lang] = tidy(p.Names[lang], mostNames)
	}
	if len(p.Aspects) < fewestParts || len(p.Neighbours) < fewestParts {
		return p, fmt.Errorf("it has %d aspects and %d neighbours, want at least %d of each", len(p.Aspects), len(p.Neighbours), fewestParts)
	}
	return p, nil
}

// tidy trims texts, and drops empty and repeated ones.
func tidy(texts []string, most int) []string {
	var kept []string
	seen := make(map[string]bool)
	for _, s := range texts {
		s = strings.Join(strings.Fields(strings.NewReplacer(",", " ", "#", " ").Replace(s)), " ")
		if s != "" && !seen[strings.ToLower(s)] && len(kept) < most {
			kept, seen[strings.ToLower(s)] = append(kept, s), true
		}
	}
	return kept
}

// A Batch is one request for lines of one kind in one language.
type Batch struct {
	// Kind is the kind of the lines, such as "near-miss".
	Kind string
	Lang string
	// About are the aspects or the neighbours that the lines are about.
	About string
	// Nth counts the batches of a kind.
	Nth int
	// In is the label of the lines.
	In bool
	// Lines is how many are wanted; of a follow-up batch, how many exchanges.
	Lines int
	// Emergency is set for lines of emergencies and harmless ones like them.
	Emergency bool
}

// parts is how many lines an exchange has: its question, and what follows it.
const parts = 11

// fewest returns the least number of lines that the batch should bring.
func (b Batch) fewest() int {
	if b.Kind == FollowUps {
		return b.Lines * parts / 3
	}
	return b.Lines / 3
}

// aboutOne reports whether the batch is about one aspect or neighbour.
func (b Batch) aboutOne() bool {
	return b.Kind == Plain || b.Kind == Typical || b.Kind == NearMiss || b.Kind == Terms
}

// Group returns what the lines of a batch share with no others.
func (b Batch) Group() string {
	label := "out"
	if b.In {
		label = "in"
	}
	h := fnv.New32a()
	_, _ = fmt.Fprint(h, strings.Join([]string{b.Kind, label, b.Lang, strconv.Itoa(b.Nth), b.About}, " "))
	return fmt.Sprintf("%08x", h.Sum32())
}

// String names a batch for people.
func (b Batch) String() string {
	label := "out"
	if b.In {
		label = "in"
	}
	if b.Emergency {
		label = "emergencies"
	}
	if b.aboutOne() {
		return fmt.Sprintf("%s %s %s: %s", b.Lang, label, b.Kind, b.About)
	}
	return fmt.Sprintf("%s %s %s %d", b.Lang, label, b.Kind, b.Nth+1)
}

// The kinds of lines.
const (
	Plain     = "plain"
	Typical   = "typical"
	NearMiss  = "near-miss"
	TwoSenses = "two-sense"
	Dressed   = "adversarial"
	FollowUps = "follow-up"
	Chat      = "chat"
	// Terms are no messages: words and phrases of a part of the subject, or of another one. They cost a
	// model little, and tell code more words than its messages hold.
	Terms = "term"
	// Harmless lines use the words of an emergency, and describe none.
	Harmless = "harmless"
)

// batches returns the requests of a plan for all languages and the kinds of emergencies.
func batches(p Plan, t subject.Topic) []Batch {
	var all []Batch
	for _, lang := range t.Languages {
		for _, aspect := range p.Aspects {
			all = append(all, Batch{Kind: Plain, Lang: lang, About: aspect, In: true, Lines: 24},
				Batch{Kind: Typical, Lang: lang, About: aspect, In: true, Lines: 14}, Batch{Kind: Terms, Lang: lang, About: aspect, In: true, Lines: 30})
		}
		for _, neighbour := range p.Neighbours {
			all = append(all, Batch{Kind: NearMiss, Lang: lang, About: neighbour, Lines: 14},
				Batch{Kind: Typical, Lang: lang, About: neighbour, Lines: 6}, Batch{Kind: Terms, Lang: lang, About: neighbour, Lines: 30})
		}
		// A kind that is asked for several times is about other parts each time.
		repeat := func(b Batch, times int) {
			parts := p.Aspects
			if !b.In && b.Kind != FollowUps {
				parts = p.Neighbours
			}
			for b.Nth = range times {
				b.Lang, b.About = lang, strings.Join(share(parts, b.Nth, times), "; ")
				all = append(all, b)
			}
		}
		repeat(Batch{Kind: FollowUps, Lines: 8}, 5)
		repeat(Batch{Kind: Chat, In: true, Lines: 24}, 5)
		repeat(Batch{Kind: Chat, Lines: 24}, 3)
		repeat(Batch{Kind: Dressed, Lines: 24}, 3)
		repeat(Batch{Kind: Dressed, In: true, Lines: 15}, 2)
		repeat(Batch{Kind: TwoSenses, Lines: 20}, 2)
		repeat(Batch{Kind: TwoSenses, In: true, Lines: 13}, 2)
		for _, k := range t.Emergencies.Kinds {
			repeat(Batch{Kind: k.Name, Emergency: true, In: true, Lines: 20}, 2)
		}
		if len(t.Emergencies.Kinds) > 0 {
			repeat(Batch{Kind: Harmless, Emergency: true, Lines: 24}, 5)
		}
	}
	return all
}

// share returns the nth of so many shares of the parts.
func share(parts []string, nth, of int) (some []string) {
	for i := nth; i < len(parts); i += of {
		some = append(some, parts[i])
	}
	return some
}
