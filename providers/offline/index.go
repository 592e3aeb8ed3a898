package offline

import (
	"maps"
	"math"
	"strings"

	"molar/schemas"
)

// An indexed tool is what the scorer knows of it.
type indexed struct {
	info   schemas.ToolInfo
	fields []field
	weight map[string]float64 // of each key: the best place where it stands
	name   []term
	known  map[string]bool // the keys of the name
	called map[string]bool // the same and the server's name: what a person calls it
	verbs  []string        // of the name; of the title or description if it has none
	plural bool
	// alsoVerbs stand at the start of the title and description.
	alsoVerbs []string
}

// The places where a key may stand, and what a match there is worth.
const (
	inName        = 1.0
	inTitle       = 0.8
	inParameter   = 0.6
	inEnum        = 0.5
	inDescription = 0.4
	inServer      = 0.3
)

func indexTools(tools []schemas.ToolInfo) []indexed {
	out := make([]indexed, len(tools))
	for i, t := range tools {
		out[i] = indexTool(t)
	}
	return out
}

func indexTool(info schemas.ToolInfo) indexed {
	t := indexed{info: info, fields: fieldsOf(info), weight: map[string]float64{}, known: map[string]bool{}}
	own := info.ToolName
	if own == "" {
		_, own, _ = strings.Cut(info.Name, "__")
	}
	if own == "" {
		own = info.Name
	}
	// The name says nothing about its language; the description does.
	vietnamese := isVietnamese(info.Description)
	t.name = t.add(splitName(own), inName, vietnamese)
	for _, term := range t.name {
		for _, k := range term.keys {
			t.known[k] = true
		}
		t.verbs = append(t.verbs, term.verbs()...)
		t.plural = t.plural || term.plural
	}
	title := t.add(info.Title, inTitle, isVietnamese(info.Title))
	description := t.add(positive(info.Description), inDescription, vietnamese)
	for _, terms := range [][]term{title, description} {
		for i, term := range terms[:min(len(terms), 8)] {
			t.alsoVerbs = append(t.alsoVerbs, term.verbs()...)
			if len(t.verbs) == 0 && i < 2 {
				t.verbs = term.verbs()
			}
		}
	}
	for _, f := range t.fields {
		t.add(splitName(f.name), inParameter, vietnamese)
		t.add(clip(f.description, 200), inServer, isVietnamese(f.description))
		for _, e := range f.enum[:min(len(f.enum), 40)] {
			t.add(splitName(strings.Trim(string(e), `"`)), inEnum, vietnamese)
		}
	}
	t.called = maps.Clone(t.known)
	for _, term := range t.add(splitName(info.Server), inServer, false) {
		for _, k := range term.keys {
			t.called[k] = true
		}
	}
	return t
}

func (t *indexed) add(text string, worth float64, vietnamese bool) []term {
	tokens := tokenize(text)
	terms := newPhraseBook(vietnamese, tokens).read(tokens, nil)
	for i, term := range terms {
		own := term.ownKey(tokens)
		terms[i].own = own
		for _, k := range term.keys {
			w := worth
			if own != "" && k != own && k[0] != '!' {
				w *= kindred
			}
			t.weight[k] = max(t.weight[k], w)
		}
		if term.known { // the plain word too, for a question in the tool's own words
			for _, tok := range tokens[term.from:term.to] {
				t.weight[tok.stem] = max(t.weight[tok.stem], worth*0.9)
			}
		}
	}
	return terms
}

// kindred is what a concept counts that a word also belongs to, beside the one that is
// named after it: a forecast is about weather, but current conditions are more so.
const kindred = 0.7

// ownKey returns the noun concept named after the term's only word, or "".
func (t term) ownKey(tokens []token) string {
	for _, k := range t.keys {
		if t.to-t.from == 1 && k[0] == '~' && stem(k[1:]) == tokens[t.from].stem {
			return k
		}
	}
	return ""
}

// positive drops the sentences of a description that say what a tool is not for.
func positive(description string) string {
	var kept []string
	for s := range strings.SplitSeq(clip(description, 500), ".") {
		low := " " + strings.ToLower(s) + " "
		if !strings.Contains(low, " not ") && !strings.Contains(low, "instead") && !strings.Contains(low, " không ") {
			kept = append(kept, s)
		}
	}
	return strings.Join(kept, ".")
}

// rarity weighs a key from 1 (one tool has it) down (all have it).
func rarity(tools []indexed) func(key string) float64 {
	count := map[string]float64{}
	for _, t := range tools {
		for k, w := range t.weight {
			if w > inDescription {
				count[k]++
			} else {
				count[k] += 0.4
			}
		}
	}
	n := float64(len(tools))
	return func(key string) float64 {
		return min(1, math.Log1p(n/max(count[key], 1))/math.Log1p(n))
	}
}
