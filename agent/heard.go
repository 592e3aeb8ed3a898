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
		h.ground.Own(texts...)
		h.sources.Add(texts...)
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
		text := answer.Prose(r.OutputText())
		add(text)
		h.sources.Add(text)
		for _, link := range r.Resources {
			h.sources.Add(link.URI)
		}
	}
}

// retold adds texts of models and clients, which are no sources.
func (h heard) retold(texts ...string) {
	if h.ground != nil {
		h.ground.Retold(texts...)
	}
}

// conversation adds the question and what was said before it.
func (h heard) conversation(q question, past recalled) {
	if h.ground == nil {
		return
	}
	h.ground.Asked(q.typed)
	h.sources.Add(q.typed)
	h.own(q.notice)
	for _, read := range q.read {
		h.ground.Found(read.Text)
		h.sources.Add(read.Text)
	}
	if q.server != "" { // it wrote the question
		h.ground.Found(q.asked)
		h.sources.Add(q.asked)
	}
	h.retold(past.summary)
	for _, x := range past.exchanges {
		if past.foreign {
			h.retold(x.Question)
			h.sources.Add(x.Question)
		} else {
			h.own(x.Question)
		}
		h.retold(x.Answer())
		for _, round := range x.Rounds() {
			h.own(round.Passages...)
			h.fetched(round.Results...)
		}
	}
}
