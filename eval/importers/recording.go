package importers

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"molar/eval/cassettes"
	"molar/eval/match"
	"molar/eval/tape"
	"molar/internal/text"
)

// baseName returns a file's name without its extension.
func baseName(file string) string {
	name := filepath.Base(file)
	return strings.TrimSuffix(name, filepath.Ext(name))
}

// recording makes a case from the pairs of one recording. Requests of a conversation are
// consecutive, and a request whose last message is the user's begins a turn.
func recording(id, source string, pairs []cassettes.Exchange) (Imported, error) {
	c := &conversation{id: id, source: source, tags: []string{"imported", source}}
	for i, p := range pairs {
		provider, model := tape.WireOf(p.URL)
		if provider == "" && speaks(p) {
			provider = cmp.Or(c.provider, tape.OpenAI)
		}
		switch {
		case provider == "":
			c.notes = append(c.notes, fmt.Sprintf("interaction %d: %s is not a model call and was skipped", i+1, text.Clip(p.URL, longestQuote, "…")))
			continue
		case p.Status >= 300:
			c.notes = append(c.notes, fmt.Sprintf("interaction %d: it was refused with %d and was left out", i+1, p.Status))
			continue
		case c.provider != "" && c.provider != provider:
			c.notes = append(c.notes, fmt.Sprintf("interaction %d: it is of %s, in a recording of %s, and was left out", i+1, provider, c.provider))
			continue
		}
		if err := c.add(p, provider, model); err != nil {
			c.notes = append(c.notes, fmt.Sprintf("interaction %d: it was left out: %v", i+1, err))
		}
	}
	if len(c.turns) == 0 {
		return Imported{}, fmt.Errorf("recording %q holds no call of a model that Molar speaks to: %s", id, strings.Join(c.notes, "; "))
	}
	return c.build()
}

// unknownQuestion is the text of the user in a recording that has only answers.
const unknownQuestion = "(The recording has no question.)"

// speaks reports whether an exchange of an unknown service is a model call all the same: a message of a user
// with an answer. It is imported by its meaning.
func speaks(p cassettes.Exchange) bool {
	request, err := tape.ReadRequest([]byte(p.Request))
	if err != nil || !slices.ContainsFunc(request.Messages(), func(m tape.Message) bool { return m.Role == "user" }) {
		return false
	}
	answer, _, err := tape.ReadAnswer(tape.OpenAI, p.Response)
	return err == nil && (answer.Text != "" || len(answer.Calls) > 0)
}

// add adds one exchange to the conversation.
func (c *conversation) add(p cassettes.Exchange, provider, model string) error {
	user := ""
	if p.Request == "" { // of Gemini CLI's fake responses
		user, p.Request = unknownQuestion, "{}"
	}
	if provider == tape.OpenAI {
		p.Request, p.Response = renewed(p.Request), renewed(p.Response)
	}
	request, err := tape.ReadRequest([]byte(p.Request))
	if err != nil {
		return fmt.Errorf("request: %w", err)
	}
	answer, stream, err := tape.ReadAnswer(provider, p.Response)
	if err != nil {
		return fmt.Errorf("response: %w", err)
	}
	number := numberedEnd.FindStringSubmatch(p.Response)
	if number != nil && number[1] != "1" { // 1 is STOP
		return fmt.Errorf("it ends with finishReason %s, a number: only answers with names for it can be replayed", number[1])
	}
	wire, _ := tape.WireOf(p.URL)
	if wire == "" || number != nil {
		stream = answer.Stream(provider, "")
	}
	if u, err := url.Parse(p.URL); err == nil && wire != "" {
		stream.Path = u.Path
	}
	c.provider = provider
	c.model = cmp.Or(c.model, model, request.Model)
	if len(c.tools) == 0 {
		c.tools = request.Tools()
	}
	var results []tape.Part // of the calls of the last answer
	for _, m := range request.Messages() {
		switch m.Role {
		case tape.KindSystem:
			c.system = cmp.Or(c.system, m.Text)
		case "assistant", "model":
			results = nil
		default:
			if m.Text != "" {
				user, results = m.Text, nil
			}
			results = append(results, m.Results...)
		}
	}
	switch calls := c.lastCalls(); {
	case len(calls) > 0 && (len(results) > 0 || user == unknownQuestion):
		takeResults(calls, results)
	case user == "":
		return errors.New("the request has no text of a user")
	default:
		c.turns = append(c.turns, conversationTurn{user: user})
	}
	step := c.addAnswer(answer, stream)
	step.method, step.request = p.Method, json.RawMessage(match.CanonicalJSON([]byte(p.Request)))
	return nil
}

// numberedEnd finds how an answer of Vertex ended if the recording numbers the names. No client of Gemini's reads
// numbers, so such an answer is imported by its meaning.
var numberedEnd = regexp.MustCompile(`"finishReason"\s*:\s*([1-9]\d*)`)

// The names of OpenAI's first form. A call has texts alone.
var (
	oldCall      = regexp.MustCompile(`"function_call"\s*:\s*(\{(?:[^"{}]|"(?:[^"\\]|\\.)*")*?"arguments"(?:[^"{}]|"(?:[^"\\]|\\.)*")*\})`)
	oldEnd       = regexp.MustCompile(`("finish_reason"\s*:\s*)"function_call"`)
	oldFunctions = regexp.MustCompile(`"functions"(\s*:\s*\[)`)
)

// renewed returns a body of OpenAI's first form, with functions and function_call, in today's form.
func renewed(body string) string {
	body = oldCall.ReplaceAllString(body, `"tool_calls":[{"index":0,"type":"function","function":$1}]`)
	body = oldEnd.ReplaceAllString(body, `$1"tool_calls"`)
	return oldFunctions.ReplaceAllString(body, `"tools"$1`)
}

// lastCalls returns the calls of the last answer.
func (c *conversation) lastCalls() []conversationCall {
	if len(c.turns) == 0 || len(c.turns[len(c.turns)-1].steps) == 0 {
		return nil
	}
	steps := c.turns[len(c.turns)-1].steps
	return steps[len(steps)-1].calls
}

// takeResults assigns results to calls, by id if both have one, else by name and in order. It
// returns the results without a call.
func takeResults(calls []conversationCall, results []tape.Part) (left []tape.Part) {
	for _, r := range results {
		i := slices.IndexFunc(calls, func(c conversationCall) bool {
			byID := r.ID != "" && c.ID != ""
			return c.output == nil && (byID && r.ID == c.ID || !byID && (r.Name == "" || r.Name == c.Name))
		})
		if i < 0 {
			left = append(left, r)
			continue
		}
		calls[i].output = tape.Output(r.Text)
	}
	return left
}
