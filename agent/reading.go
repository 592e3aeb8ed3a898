package agent

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"molar/internal/text"
	"molar/providers"
	"molar/schemas"
	"molar/toolhandler"
)

// readings returns the texts of others that the model reads before any call, each with its origin.
// earlier are the rounds of the turn before its client's tools ran.
func (a *Agent) readings(w *task, q question, past recalled, found findings, earlier []schemas.Round) []toolhandler.Reading {
	of := w.catalogue
	var all []toolhandler.Reading
	for _, origin := range past.origins() {
		all = append(all, of.Reading(origin, "")) // a model's text repeats what it had read
	}
	for _, x := range past.exchanges {
		all = append(all, results(of, x.Rounds())...)
	}
	all = append(all, results(of, earlier)...)
	for _, r := range q.read {
		all = append(all, of.Reading(r.Origin, r.Text))
	}
	all = append(all, found.readings(of)...)
	for _, r := range w.turn.Results {
		all = append(all, of.Reading(schemas.FromClient, r.OutputText()))
	}
	if text := w.turn.systemText(); text != "" && w.turn.SystemFrom != "" {
		all = append(all, of.Reading(w.turn.SystemFrom, text))
	}
	return all
}

// systemText returns what the client tells the model beside the messages, also about its tools and in
// the schema of the answer.
func (t *Turn) systemText() string {
	texts := []string{t.System, t.Form}
	for _, tool := range t.ClientTools {
		texts = append(texts, tool.Name, tool.Description, string(tool.InputSchema))
	}
	if len(t.Schema) > 0 && !bytes.Equal(t.Schema, providers.AnyObject()) {
		texts = append(texts, string(t.Schema))
	}
	return strings.TrimSpace(strings.Join(texts, "\n"))
}

// origins returns the sorted origins of what the models had read whose texts the prompt holds: of each
// exchange, and of the whole conversation where its summary stands in.
func (r recalled) origins() []schemas.Origin {
	var all []schemas.Origin
	whole := r.summary != "" || len(r.exchanges) == 0
	for _, x := range r.exchanges {
		all = append(all, x.Read...)
		whole = whole || !x.known || x.Condensed != ""
	}
	if whole {
		all = append(all, r.read...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// readings returns the readings of what code had looked up for the question.
func (f findings) readings(of *toolhandler.Catalogue) []toolhandler.Reading {
	var all []toolhandler.Reading
	for _, r := range f.foreign {
		reading, foreign := of.Result(r, f.call)
		if !foreign { // the tool does not say that others write what it finds
			reading = of.Reading(schemas.FromWeb, r.OutputText())
		}
		all = append(all, reading)
	}
	return all
}

// results returns the readings of the results of rounds.
func results(of *toolhandler.Catalogue, rounds []schemas.Round) []toolhandler.Reading {
	var all []toolhandler.Reading
	for _, round := range rounds {
		for _, r := range round.Results {
			if r.Server == "" {
				continue
			}
			if reading, foreign := of.Result(r, callOf(round, r.ID)); foreign {
				all = append(all, reading)
			}
		}
	}
	return all
}

// callOf returns the call of a round with an id, nil if it has none.
func callOf(round schemas.Round, id string) *schemas.ToolCall {
	for _, p := range round.Said.Parts {
		if p.Kind == schemas.PartCall && p.Call != nil && p.Call.ID == id {
			return p.Call
		}
	}
	return nil
}

// ownTexts returns the operator's texts that the model reads as results.
func ownTexts(of *toolhandler.Catalogue, past recalled, found findings, earlier []schemas.Round) []string {
	var all []string
	add := func(r schemas.ToolResult) {
		if r.Server != schemas.ToolServer {
			return
		}
		if reading, foreign := of.Result(r, nil); !foreign {
			all = append(all, reading.Text)
		}
	}
	for _, r := range found.results {
		add(r)
	}
	rounds := slices.Clone(earlier)
	for _, x := range past.exchanges {
		rounds, all = append(rounds, x.Rounds()...), append(all, x.passages()...)
	}
	for _, round := range rounds {
		for _, r := range round.Results {
			add(r)
		}
	}
	return all
}

// typed returns the texts that the person typed or pasted: the question, and the earlier ones that hold
// no text of others.
func typed(q question, past recalled) []string {
	words := []string{q.words}
	for _, x := range past.exchanges {
		if x.isTyped() {
			words = append(words, x.Question)
		}
	}
	return words
}

// isTyped reports whether the person typed or pasted all of the question.
func (x Exchange) isTyped() bool { return areTyped(x.From) }

// areTyped reports whether a question with texts of these origins beside typed ones holds no text of
// others.
func areTyped(from []schemas.Origin) bool {
	return !slices.ContainsFunc(from, func(o schemas.Origin) bool { return o != schemas.FromPaste })
}

// own returns what the person typed or pasted of the question.
func (q question) own() string {
	if q.server == "" && areTyped(q.from) {
		return q.asked
	}
	return q.words
}

// maxName bounds a file's name in its origin, in bytes.
const maxName = 80

// file returns the origin of an uploaded file's text and name: others may have written both.
func file(name string) schemas.Origin {
	name = cmp.Or(strings.Join(strings.Fields(name), " "), "without a name")
	return schemas.FileOrigin(text.Clip(text.Shown(name), maxName, "…"))
}

// filesIn returns the images, sounds and other files of a message that a model reads directly.
func filesIn(m schemas.Message) []toolhandler.Reading {
	var read []toolhandler.Reading
	for _, p := range m.Parts {
		if p.Kind == schemas.PartImage || p.Kind == schemas.PartFile {
			read = append(read, toolhandler.Reading{Origin: file(p.Name), Text: p.Name})
		}
	}
	return read
}

// othersTexts returns the texts of a person's message that they did not type. data is set if the whole
// message is one that a client passes on.
func othersTexts(m schemas.Message, data bool) []toolhandler.Reading {
	var read []toolhandler.Reading
	for _, p := range m.Parts {
		switch {
		case p.Kind != schemas.PartText:
		case data && (p.Origin == "" || p.Origin == schemas.FromPaste):
			read = append(read, toolhandler.Reading{Origin: schemas.FromClient, Text: p.Text})
		case p.Origin != "":
			read = append(read, toolhandler.Reading{Origin: p.Origin, Text: p.Text})
		}
	}
	return read
}

// typedWords returns the text of a message that the person typed or pasted.
func typedWords(m schemas.Message, data bool) string {
	var own []string
	for _, p := range m.Parts {
		if p.Kind == schemas.PartText && !data && (p.Origin == "" || p.Origin == schemas.FromPaste) {
			own = append(own, p.Text)
		}
	}
	return strings.Join(own, "\n")
}

// originsOf returns the sorted origins of readings.
func originsOf(read []toolhandler.Reading) []schemas.Origin {
	return toolhandler.Flow{Readings: read}.Origins()
}

// originOf returns one origin for a text that holds these: a pasted text only if it holds no other. It is
// empty for what was typed.
func originOf(read []toolhandler.Reading) (origin schemas.Origin) {
	for _, r := range read {
		if origin == "" || origin == schemas.FromPaste {
			origin = r.Origin
		}
	}
	return origin
}

// toOrigins and toStrings convert origins from and to their stored form.
func toOrigins(stored []string) []schemas.Origin {
	all := make([]schemas.Origin, len(stored))
	for i, s := range stored {
		if all[i] = schemas.Origin(s); s == schemas.ToolServer {
			all[i] = schemas.FromWeb
		}
	}
	return all
}

func toStrings(origins []schemas.Origin) []string {
	all := make([]string, len(origins))
	for i, o := range origins {
		all[i] = string(o)
	}
	return all
}
