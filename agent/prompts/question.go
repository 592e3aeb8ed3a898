package prompts

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"molar/agent/subject"
	"molar/schemas"
)

// A Looked is the result of the code-driven search.
type Looked string

// The results of a search. The zero value means no search.
const (
	// LookedFound: a search found passages.
	LookedFound Looked = "found"
	// LookedNothing: the searches found nothing.
	LookedNothing Looked = "nothing"
	// LookedFailed: every search failed.
	LookedFailed Looked = "failed"
)

// A QuestionInput is a question and its context.
type QuestionInput struct {
	Language string
	Labels   subject.Labels
	// Summary of the exchanges that are no longer shown verbatim. It is set only without a verbatim
	// exchange before the question: otherwise the first of those carries it.
	Summary string
	// Notice is the emergency notice that the person has seen already, or empty.
	Notice   string
	Question schemas.Message
	// Looked is the search's result; Found is what it found.
	Looked Looked
	Found  []schemas.ToolResult
	// Perhaps has passages below the threshold. Only the offline provider reads it: its text is in no
	// prompt.
	Perhaps *schemas.ToolResult
	// MaxBytes bounds each result.
	MaxBytes int
	// JSON is set if the client wants a JSON answer, Schema if the model has to read its schema here.
	JSON   bool
	Schema json.RawMessage
	// Switched is set if the question is in another language than the system prompt.
	Switched bool
}

// Question writes the last user message: the passages, the question, and after it the rules of this
// answer. The question's own parts stay separate from those that code adds.
func Question(in QuestionInput) schemas.Message {
	w := wordsOf(in.Language)
	var parts []schemas.Part
	if in.Summary != "" {
		parts = append(parts, Summarised(in.Language, in.Summary))
	}
	parts = append(parts, passages(in, w)...)
	if in.Perhaps != nil {
		parts = append(parts, schemas.Part{Kind: schemas.PartContext, Result: in.Perhaps})
	}
	if len(parts) > 0 {
		parts = append(parts, beside(in.Labels.Question))
	}
	parts = append(parts, in.Question.Parts...)
	if in.Notice != "" {
		parts = append(parts, beside(in.Labels.Notice+"\n"+in.Notice))
	}
	if rule := form(in, w); rule != "" {
		parts = append(parts, beside(rule))
	}
	return schemas.Message{Role: schemas.RoleUser, Parts: parts}
}

// Passages returns the texts that [Question] puts before the question, without a summary.
func Passages(in QuestionInput) []string {
	parts := passages(in, wordsOf(in.Language))
	if len(parts) == 0 {
		return nil
	}
	texts := make([]string, 0, len(parts)+1)
	for _, p := range append(parts, beside(in.Labels.Question)) {
		texts = append(texts, p.Text)
	}
	return texts
}

// After returns a question with the texts that stood before it.
func After(passages []string, question schemas.Message) schemas.Message {
	parts := make([]schemas.Part, 0, len(passages)+len(question.Parts))
	for _, text := range passages {
		parts = append(parts, beside(text))
	}
	question.Parts = append(parts, question.Parts...)
	return question
}

// form returns the rule of this answer, if the system prompt does not cover it.
func form(in QuestionInput, w words) string {
	switch {
	case len(in.Schema) > 0:
		return w.json + " " + w.schema + "\n" + string(in.Schema)
	case in.JSON:
		return w.json
	case in.Looked == LookedFound:
		return w.passageRule + " " + w.form
	case in.Looked != "" || in.Switched:
		return w.form
	}
	return ""
}

func passages(in QuestionInput, w words) []schemas.Part {
	switch in.Looked {
	case LookedNothing:
		return []schemas.Part{beside(in.Labels.Search + "\n" + w.nothing)}
	case LookedFailed:
		return []schemas.Part{beside(in.Labels.Search + "\n" + w.unsearched)}
	case LookedFound:
	default:
		return nil
	}
	var parts []schemas.Part
	for _, r := range in.Found {
		parts = append(parts, schemas.Part{
			Kind:   schemas.PartContext,
			Text:   in.Labels.Search + "\n" + fence(r.Server, numbered(r, in.MaxBytes)),
			Result: &r,
		})
	}
	return parts
}

// numbered writes search results as numbered passages of plain text, which a small model reads more
// easily than JSON. Addresses are left out: sources are added by code.
func numbered(r schemas.ToolResult, maxBytes int) string {
	var found struct {
		Results []struct {
			Title, Content, Snippet, Text string
		}
	}
	if json.Unmarshal(r.Output, &found) != nil || len(found.Results) == 0 {
		return bounded(r, maxBytes)
	}
	var b strings.Builder
	for i, p := range found.Results {
		content := p.Content + p.Snippet + p.Text // one of them is set
		if content+p.Title == "" {
			return bounded(r, maxBytes) // another shape
		}
		fmt.Fprintf(&b, "[%d] %s\n\n", i+1, strings.TrimSpace(p.Title+"\n"+content))
	}
	text := strings.TrimSpace(b.String())
	if maxBytes > 0 && len(text) > maxBytes {
		return bounded(schemas.ToolResult{Output: schemas.TextOutput(text)}, maxBytes)
	}
	return text
}

// Summarised returns the summary of the exchanges no longer shown, under its heading: a model wrote
// it, also from what tools gave.
func Summarised(lang, summary string) schemas.Part {
	return beside(wordsOf(lang).summary + "\n" + fence("summary", summary))
}

// Begins returns the label of a person's earlier words, after text that code put before them.
func Begins(labels subject.Labels) schemas.Part { return beside(labels.Person + ":") }

// NoMoreCalls returns the message that ends tool use in a turn; why names the limit that was
// reached.
func NoMoreCalls(lang, why string) schemas.Message {
	return schemas.Message{Role: schemas.RoleUser, Parts: []schemas.Part{beside(fmt.Sprintf(wordsOf(lang).limit, why))}}
}

// Mismatch returns the message that asks for an answer again, in the form that the client wants; why
// is what is wrong with it.
func Mismatch(lang string, why error) schemas.Message {
	w := wordsOf(lang)
	return schemas.Message{Role: schemas.RoleUser, Parts: []schemas.Part{beside(fmt.Sprintf(w.mismatch, why) + " " + w.json)}}
}

// Unanswered returns the remark that stands for an answer that a question did not get.
func Unanswered(lang string, why schemas.Unanswered) string {
	reasons := unanswered(lang)
	return cmp.Or(reasons[why], reasons[""])
}

// CutOff returns the remark at the end of an answer that was interrupted.
func CutOff(lang string) string { return wordsOf(lang).cutOff }

// WithoutCalls returns a question with the remark that earlier calls for it are not shown.
func WithoutCalls(lang string, question schemas.Message) schemas.Message {
	remark := beside(wordsOf(lang).callsLeftOut)
	if !slices.ContainsFunc(question.Parts, func(p schemas.Part) bool { return p.Text == remark.Text }) {
		question.Parts = append(slices.Clip(question.Parts), remark)
	}
	return question
}

func beside(text string) schemas.Part {
	return schemas.Part{Kind: schemas.PartContext, Text: text}
}

// WithoutSources returns the content of a stored answer without its list of sources.
func WithoutSources(m schemas.StoredMessage) string {
	if len(m.Sources) == 0 {
		return m.Content
	}
	for _, lang := range languages {
		if i := strings.LastIndex(m.Content, "\n\n"+SourcesHeading(lang)+"\n\n"); i >= 0 {
			return m.Content[:i]
		}
	}
	return m.Content
}
