package agent

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"

	"molar/agent/prompts"
	"molar/agent/subject"
	"molar/internal/text"
	"molar/schemas"
)

// An Exchange is an earlier question and its answer.
type Exchange struct {
	Question string
	// Answers are the messages after the question: the stored answer with its calls, and anything
	// else added to the conversation before the next question.
	Answers []schemas.StoredMessage
	// Seq is the sequence number of the question; 0 for what a client sent.
	Seq int64
	// Files are the question's files as the model is shown them.
	Files []schemas.Part
	// From are the origins of the texts in the question that the person did not type, Read those of all
	// that the prompt of its turn held; known is set if they were recorded.
	From, Read []schemas.Origin
	known      bool
	// Bare is set when the texts that stood before the question are not shown any more.
	Bare bool
	// Last is the sequence number of its last message; 0 for what a client sent.
	Last int64
	// Piece is its summary; empty until written.
	Piece string
	// Condensed, when set, replaces everything up to and including this exchange.
	Condensed string
}

// Answer returns the text of the answer, without a list of sources.
func (x Exchange) Answer() string {
	var texts []string
	for _, m := range x.Answers {
		if m.Role == schemas.RoleAssistant && m.Content != "" {
			texts = append(texts, prompts.WithoutSources(m))
		}
	}
	return strings.Join(texts, "\n\n")
}

// Rounds returns the rounds of tool calls made for the question.
func (x Exchange) Rounds() []schemas.Round {
	var all []schemas.Round
	for _, m := range x.Answers {
		all = append(all, m.Rounds()...)
	}
	return all
}

// Messages returns the exchange as a model saw it: the question with its files and with what code had
// looked up in the operator's texts, the rounds of calls with their results, and the answer. The
// question and each result are cut at maxBytes; 0 means no limit. A question without an answer is
// followed by why. What people at the desk wrote stands beside the question.
func (x Exchange) Messages(maxBytes int) []schemas.Message {
	var answers []schemas.Message
	desk := x.Desk()
	lang, _ := subject.Guess(cmp.Or(x.Question, strings.Join(desk, "\n")))
	for _, m := range x.Answers {
		if m.Role == schemas.RoleAssistant && m.Assistant != schemas.Desk {
			answers = append(answers, answerMessages(m, m.Rounds(), lang, maxBytes)...)
		}
	}
	if x.Question == "" && len(desk) == 0 {
		return nil
	}
	if len(answers) == 0 || answers[len(answers)-1].Role != schemas.RoleAssistant {
		why := x.unanswered()
		if x.Question == "" {
			why = schemas.UnansweredDesk
		}
		answers = append(answers, schemas.Text(schemas.RoleAssistant, prompts.Unanswered(lang, why)))
	}
	question := schemas.Message{Role: schemas.RoleUser}
	if x.Question != "" {
		question = shortened(schemas.Text(schemas.RoleUser, x.Question), maxBytes)
	}
	question.Parts = append(question.Parts, x.Files...)
	if len(desk) > 0 {
		question.Parts = append(question.Parts, prompts.FromDesk(lang, desk))
	}
	if !x.Bare {
		question = prompts.After(x.passages(), question)
	}
	return append([]schemas.Message{question}, answers...)
}

// Desk returns what people at the desk wrote after the question.
func (x Exchange) Desk() (texts []string) {
	for _, m := range x.Answers {
		if m.Assistant == schemas.Desk {
			texts = append(texts, m.Content)
		}
	}
	return texts
}

// isUnjudged reports whether no guard judged the question, as it was for the desk.
func (x Exchange) isUnjudged() bool {
	return x.unanswered() == schemas.UnansweredDesk || prompts.IsAboutDesk(x.Answer())
}

// unanswered returns why the question has no answer; empty if that is not known.
func (x Exchange) unanswered() schemas.Unanswered {
	for _, round := range x.Rounds() {
		if round.Unanswered != "" {
			return round.Unanswered
		}
	}
	return ""
}

// passages returns the texts that stood before the question.
func (x Exchange) passages() []string {
	for _, round := range x.Rounds() {
		if len(round.Passages) > 0 {
			return round.Passages
		}
	}
	return nil
}

// answerMessages returns a stored answer and its rounds as the provider saw them. A round whose calls
// and results do not pair ends the rounds: no history may hold a call without a result.
func answerMessages(m schemas.StoredMessage, rounds []schemas.Round, lang string, maxBytes int) []schemas.Message {
	last := schemas.Text(schemas.RoleAssistant, prompts.WithoutSources(m))
	var messages []schemas.Message
	for _, round := range rounds {
		calls := len(round.Said.Calls())
		if calls == 0 && len(round.Results) == 0 {
			if len(round.Said.Parts) > 0 {
				last = round.Said // it holds the provider's state
			}
			break
		}
		if calls != len(round.Results) {
			break
		}
		messages = append(messages, round.Said, prompts.Results(round.Results, maxBytes))
	}
	if last.FullText() == "" {
		return messages
	}
	if m.Status == schemas.StatusInterrupted {
		last = cutOff(last, prompts.CutOff(lang))
	}
	return append(messages, last)
}

// cutOff returns an interrupted answer with a remark at its end. A part with a provider's private
// state stays as it is.
func cutOff(answer schemas.Message, remark string) schemas.Message {
	answer.Parts = slices.Clone(answer.Parts)
	if n := len(answer.Parts) - 1; n >= 0 && answer.Parts[n].Kind == schemas.PartText && answer.Parts[n].State == nil {
		answer.Parts[n].Text = strings.TrimRight(answer.Parts[n].Text, "\n") + "\n\n" + remark
		return answer
	}
	answer.Parts = append(answer.Parts, schemas.Part{Kind: schemas.PartText, Text: remark})
	return answer
}

// Exchanges groups stored messages by question. pieces and condensed are summaries by
// the sequence number of an answer.
func Exchanges(messages []schemas.StoredMessage, pieces, condensed map[int64]string) []Exchange {
	var all []Exchange
	for _, m := range messages {
		isQuestion := m.Role == schemas.RoleUser && m.Content != "" // people at the desk write without one
		if isQuestion || len(all) == 0 {
			all = append(all, Exchange{})
		}
		x := &all[len(all)-1]
		switch {
		case isQuestion:
			x.Question, x.Seq = m.Content, m.Seq
		case m.Role != schemas.RoleUser:
			x.Answers = append(x.Answers, m)
		}
		x.Last = m.Seq
		x.origins(m)
		x.Piece = joinParagraphs(x.Piece, pieces[m.Seq])
		if whole := condensed[m.Seq]; whole != "" {
			x.Condensed = whole
		}
	}
	return all
}

// origins adds the origins of a stored answer.
func (x *Exchange) origins(m schemas.StoredMessage) {
	if m.Role != schemas.RoleAssistant {
		return
	}
	if m.TurnID == "" && m.Seq > 0 && len(m.Calls) == 0 { // a program put it there, and no turn of this host
		x.Read = append(x.Read, schemas.FromClient)
		return
	}
	if rounds := m.Rounds(); len(rounds) > 0 && rounds[0].Traced {
		x.From, x.Read, x.known = append(x.From, rounds[0].Question...), append(x.Read, rounds[0].Read...), true
	}
}

// sent groups the messages before the question, as a client sent them. Its own calls are rounds like
// ours, if their results follow. data is set if the client passes on what others wrote; believes reports
// whether a result comes from the server that it names.
func sent(messages []schemas.Message, data bool, believes func(schemas.ToolCall, schemas.ToolResult) bool) []Exchange {
	last := len(messages) - 1
	for last >= 0 && messages[last].Role != schemas.RoleUser {
		last--
	}
	var all []Exchange
	for i, m := range messages[:max(last, 0)] {
		text := m.Said()
		switch {
		case m.Role == schemas.RoleUser && text != "":
			_, others := textsIn(m, data)
			x := Exchange{Question: text, From: originsOf(others)}
			for _, p := range m.Parts {
				if p.IsFile() {
					x.Files = append(x.Files, p)
				}
			}
			all = append(all, x)
		case m.Role == schemas.RoleAssistant && (text != "" || len(all) > 0 && len(m.Calls()) > 0):
			if len(all) == 0 {
				all = append(all, Exchange{})
			}
			x := &all[len(all)-1]
			x.Answers = append(x.Answers, sentAnswer(m, messages[i+1:last], believes))
		}
	}
	return all
}

// sentAnswer returns an answer that a client sent. Calls without a result are left out: a client may
// have cut its history. A result that does not come from the server that it names is the client's own.
func sentAnswer(m schemas.Message, next []schemas.Message, believes func(schemas.ToolCall, schemas.ToolResult) bool) schemas.StoredMessage {
	stored := schemas.StoredMessage{Role: m.Role, Content: m.Said()}
	calls := m.Calls()
	if len(calls) == 0 {
		return stored
	}
	given := resultsAfter(next)
	round := schemas.Round{Said: schemas.Message{Role: m.Role}}
	for _, p := range m.Parts {
		if p.Kind != schemas.PartCall || p.Call == nil {
			round.Said.Parts = append(round.Said.Parts, p)
			continue
		}
		if result, known := given[p.Call.ID]; known {
			if !believes(*p.Call, result) {
				result.Server = PauseClient
			}
			round.Said.Parts, round.Results = append(round.Said.Parts, p), append(round.Results, result)
		}
	}
	if len(round.Results) > 0 {
		stored.Content = ""
		stored.Calls, _ = json.Marshal([]schemas.Round{round}) // rounds always marshal
	}
	return stored
}

// resultsAfter returns the results that a client sent right after an answer, by the ids of their calls.
func resultsAfter(next []schemas.Message) map[string]schemas.ToolResult {
	given := make(map[string]schemas.ToolResult)
	for _, t := range next {
		if t.Role != schemas.RoleTool {
			break
		}
		for _, p := range t.Parts {
			if p.Result != nil {
				given[p.Result.ID] = *p.Result
			}
		}
	}
	return given
}

// digest shortens an exchange that has no summary: the question and the first sentence of the
// answer.
func (x Exchange) digest() string {
	const most = 240 // bytes of each
	line := clip(oneLine(x.Question), most)
	if answer := clip(firstSentence(oneLine(x.Answer())), most); answer != "" {
		line += " — " + answer
	}
	return line
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

func firstSentence(text string) string {
	for i, r := range text {
		end := i + utf8.RuneLen(r)
		if strings.ContainsRune(".!?…。", r) && (end == len(text) || text[end] == ' ') {
			return text[:end]
		}
	}
	return text
}

// clip cuts a text and marks the cut.
func clip(s string, most int) string { return text.Clip(s, most, " …") }
