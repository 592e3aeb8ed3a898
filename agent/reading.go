package agent

import (
	"cmp"
	"slices"
	"strings"

	"molar/internal/text"
	"molar/schemas"
	"molar/toolhandler"
)

// readings returns the texts of others that the model reads before any call, each with its origin.
// earlier are the rounds of the turn before its client's tools ran.
func (a *Agent) readings(w *task, q question, past recalled, found findings, earlier []schemas.Round) []toolhandler.Reading {
	of := w.catalogue
	var all []toolhandler.Reading
	for _, x := range past.exchanges {
		all = append(all, results(of, x.Rounds())...)
		for _, origin := range x.readOr(past.read) {
			all = append(all, of.Reading(origin, "")) // the model's text repeats what it had read
		}
	}
	if past.summary != "" || len(past.exchanges) == 0 {
		for _, origin := range past.read {
			all = append(all, of.Reading(origin, ""))
		}
	}
	all = append(all, results(of, earlier)...)
	for _, r := range q.read {
		all = append(all, of.Reading(r.Origin, r.Text))
	}
	for _, r := range found.foreign {
		if reading, foreign := of.Result(r, nil); foreign {
			all = append(all, reading)
		}
	}
	for _, r := range w.turn.Results {
		all = append(all, of.Reading(schemas.FromClient, r.OutputText()))
	}
	if w.turn.SystemFrom != "" && w.turn.System+w.turn.Form != "" {
		all = append(all, of.Reading(w.turn.SystemFrom, w.turn.System))
	}
	return all
}

// results returns the readings of the results of rounds.
func results(of *toolhandler.Catalogue, rounds []schemas.Round) []toolhandler.Reading {
	var all []toolhandler.Reading
	for _, round := range rounds {
		calls := round.Said.Calls()
		for _, r := range round.Results {
			if r.Server == "" {
				continue
			}
			var call *schemas.ToolCall
			if i := slices.IndexFunc(calls, func(c schemas.ToolCall) bool { return c.ID == r.ID }); i >= 0 {
				call = &calls[i]
			}
			if reading, foreign := of.Result(r, call); foreign {
				all = append(all, reading)
			}
		}
	}
	return all
}

// ownTexts returns the operator's texts that the model reads as results.
func ownTexts(of *toolhandler.Catalogue, past recalled, found findings, earlier []schemas.Round) []string {
	var all []string
	add := func(r schemas.ToolResult) {
		if reading, foreign := of.Result(r, nil); !foreign && r.Server != "" {
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

// readOr returns the origins of what the prompt of the exchange's turn held; of an exchange that does
// not tell, those of the whole conversation.
func (x Exchange) readOr(all []schemas.Origin) []schemas.Origin {
	if x.known {
		return x.Read
	}
	return all
}

// typed returns the texts that the person typed: the question, and the earlier ones.
func typed(q question, past recalled) []string {
	words := []string{q.words}
	for _, x := range past.exchanges {
		if !slices.ContainsFunc(x.From, func(o schemas.Origin) bool { return o != schemas.FromPaste && !o.IsFile() }) {
			words = append(words, x.Question)
		}
	}
	return words
}

// maxName bounds a file's name in its origin, in bytes.
const maxName = 80

// file returns the origin of an uploaded file's text and name: others may have written both.
func file(name string) schemas.Origin {
	name = cmp.Or(strings.Join(strings.Fields(name), " "), "without a name")
	return schemas.FileOrigin(text.Clip(text.EscapeInvisible(name), maxName, "…"))
}

// foreignParts returns the parts of a person's message that they did not type: the images, sounds and
// other files that a model reads directly, and texts of another origin. data is set if the whole
// message is one that a client passes on.
func foreignParts(m schemas.Message, data bool) []toolhandler.Reading {
	var read []toolhandler.Reading
	for _, p := range m.Parts {
		switch {
		case p.Kind == schemas.PartImage || p.Kind == schemas.PartFile:
			read = append(read, toolhandler.Reading{Origin: file(p.Name), Text: p.Name})
		case p.Kind == schemas.PartText && (p.Origin != "" || data):
			read = append(read, toolhandler.Reading{Origin: cmp.Or(p.Origin, schemas.FromClient), Text: p.Text})
		}
	}
	return read
}

// typedWords returns the text of a message that the person typed or pasted.
func typedWords(m schemas.Message, data bool) string {
	var own []string
	for _, p := range m.Parts {
		if p.Kind == schemas.PartText && (p.Origin == schemas.FromPaste || p.Origin == "" && !data) {
			own = append(own, p.Text)
		}
	}
	return strings.Join(own, "\n")
}

// originsOf returns the sorted origins of readings.
func originsOf(read []toolhandler.Reading) []schemas.Origin {
	return toolhandler.Flow{Readings: read}.Origins()
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
