package agent

import (
	"molar/agent/answer"
	"molar/agent/subject"
	"molar/schemas"
)

// heard holds the texts of a turn by who wrote them, for the checks of its answer: what it may speak
// about, and which sources its numbers and addresses may stand in. Without a topic it holds nothing.
type heard struct {
	ground  *subject.Ground
	sources *answer.Sources
}

// hear returns what a turn has heard when it starts.
func hear(guard *subject.Guard, assistant *schemas.Assistant) heard {
	if guard == nil {
		return heard{}
	}
	h := heard{ground: guard.NewGround(), sources: answer.NewSources(guard.Claims)}
	h.sources.Add(guard.Topic().Texts()...)
	h.own(assistant.SystemPrompt, assistant.Description)
	return h
}

// own adds texts of the person or the operator.
func (h heard) own(texts ...string) {
	if h.ground != nil {
		h.add(h.ground.Own, texts...)
	}
}

// found adds what was looked up for the question.
func (h heard) found(results ...schemas.ToolResult) {
	if h.ground != nil {
		h.results(h.ground.Found, results)
	}
}

// fetched adds what tools returned to the model.
func (h heard) fetched(results ...schemas.ToolResult) {
	if h.ground != nil {
		h.results(h.ground.Fetched, results)
	}
}

func (h heard) results(add func(...string), results []schemas.ToolResult) {
	for _, r := range results {
		h.add(add, answer.Prose(r.OutputText()))
		for _, link := range r.Resources {
			h.sources.Add(link.URI)
		}
	}
}

// add adds texts that are sources, too.
func (h heard) add(add func(...string), texts ...string) {
	add(texts...)
	h.sources.Add(texts...)
}

// conversation adds the question and what was said before it, under a topic. Texts of models and clients
// are retold, and models' are no sources.
func (h heard) conversation(q question, past recalled) {
	h.ground.Asked(q.typed)
	h.sources.Add(q.typed)
	h.own(q.notice)
	for _, read := range q.read {
		h.add(h.ground.Found, read.Text)
	}
	if q.server != "" { // it wrote the question
		h.add(h.ground.Found, q.asked)
	}
	h.ground.Retold(past.summary)
	for _, x := range past.exchanges {
		if past.foreign || x.isUnjudged() {
			h.add(h.ground.Retold, x.Question)
		} else {
			h.own(x.Question)
		}
		h.ground.Retold(x.Answer())
		h.own(x.Desk()...)
		for _, round := range x.Rounds() {
			h.own(round.Passages...)
			h.fetched(round.Results...)
		}
	}
}
