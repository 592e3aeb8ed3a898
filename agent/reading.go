package agent

import (
	"cmp"
	"slices"
	"strings"

	"molar/internal/text"
	"molar/schemas"
	"molar/toolhandler"
)

// flowOf returns the texts that the model reads before any call, with their origins, and what the person
// typed. earlier are the rounds of the turn before its client's tools ran, or its process was lost.
func (w *task) flowOf(q question, past recalled, found findings, earlier []schemas.Round) toolhandler.Flow {
	f := toolhandler.Flow{Typed: typed(q, past)}
	add := func(read []toolhandler.Reading, own []string) {
		f.Readings, f.Own = append(f.Readings, read...), append(f.Own, own...)
	}
	addText := func(origin schemas.Origin, text string) {
		f.Readings = append(f.Readings, w.catalogue.Reading(origin, text))
	}
	for _, origin := range past.origins() {
		addText(origin, "") // a model's text repeats what it had read
	}
	for _, x := range past.exchanges {
		add(results(w.catalogue, x.Rounds()))
		f.Own = append(f.Own, slices.Concat(x.passages(), x.Desk())...)
	}
	add(results(w.catalogue, earlier))
	add(found.readings(w.catalogue))
	for _, r := range slices.Concat(q.read, w.turn.systemRead()) {
		addText(r.Origin, r.Text)
	}
	for _, r := range w.turn.Results {
		addText(schemas.FromClient, r.OutputText())
	}
	return f
}

// systemRead returns what the client tells the model beside the messages, also about its tools and in
// the schema of the answer, unless it stands for the operator.
func (t *Turn) systemRead() []toolhandler.Reading {
	texts := []string{t.System, t.Form}
	for _, tool := range t.ClientTools {
		texts = append(texts, tool.Name, tool.Description, string(tool.InputSchema))
	}
	if t.describesAnswer() {
		texts = append(texts, string(t.Schema))
	}
	text := strings.TrimSpace(strings.Join(texts, "\n"))
	if t.SystemFrom == "" || text == "" {
		return nil
	}
	return []toolhandler.Reading{{Origin: t.SystemFrom, Text: text}}
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
	return sorted(all)
}

// sorted returns origins in order, each once.
func sorted(all []schemas.Origin) []schemas.Origin {
	slices.Sort(all)
	return slices.Compact(all)
}

// readings returns the readings of what code had looked up for the question, and the operator's texts
// among it. After a pause the question's readings hold the first.
func (f findings) readings(of *toolhandler.Catalogue) (read []toolhandler.Reading, own []string) {
	for _, r := range f.results {
		switch reading, foreign := of.Result(r, f.call); {
		case !foreign:
			own = append(own, reading.Text)
		case f.call != nil:
			read = append(read, reading)
		}
	}
	return read, own
}

// results returns the readings of the results of rounds, and the operator's texts among them: those of
// knowledge, and skills.
func results(of *toolhandler.Catalogue, rounds []schemas.Round) (read []toolhandler.Reading, own []string) {
	for _, round := range rounds {
		for _, r := range round.Results {
			if r.Server == "" {
				if r.ToolName == schemas.ReadSkill && !r.IsError {
					own = append(own, r.OutputText())
				}
				continue
			}
			if reading, foreign := of.Result(r, callOf(round, r.ID)); foreign {
				read = append(read, reading)
			} else {
				own = append(own, reading.Text)
			}
		}
	}
	return read, own
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
func file(name string) schemas.Origin { return schemas.FileOrigin(shownName(name)) }

// shownName returns a file's name as people are shown it.
func shownName(name string) string {
	name = cmp.Or(strings.Join(strings.Fields(name), " "), "without a name")
	return text.Clip(text.Shown(name), maxName, "…")
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

// textsIn returns what a person typed or pasted in a message, and the texts in it that they did not
// type. data is set if the whole message is one that a client passes on.
func textsIn(m schemas.Message, data bool) (own string, others []toolhandler.Reading) {
	var words []string
	for _, p := range m.Parts {
		isOwn := p.Origin == "" || p.Origin == schemas.FromPaste
		switch {
		case p.Kind != schemas.PartText:
			continue
		case isOwn && data:
			p.Origin = schemas.FromClient
		case isOwn:
			words = append(words, p.Text)
		}
		if p.Origin != "" {
			others = append(others, toolhandler.Reading{Origin: p.Origin, Text: p.Text})
		}
	}
	return strings.Join(words, "\n"), others
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
