package agent

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"

	"molar/agent/answer"
	"molar/agent/offer"
	"molar/agent/prompts"
	"molar/agent/subject"
	"molar/schemas"
	"molar/toolhandler"
)

// A question is what a person asked, as the phases of a turn need it.
type question struct {
	// message is what the model reads: the person's own words, and what they put beside
	// them.
	message schemas.Message
	// asked is the text that is judged and searched for, typed what is saved. They differ
	// where the person used a server's prompt.
	asked, typed string
	lang         string
	langSure     bool
	// server is the one whose prompt was used; read is what stands of servers and of files in the message.
	server string
	read   []toolhandler.Reading
	// ordered is set when something beside the question gave orders to a model.
	ordered bool
	// notice is what was said at once, where it describes an emergency.
	notice string
	// agreed are the calls of the answer before that it is a plain yes to, dropped those to which it is none.
	agreed, dropped Waiting
	// reply is what code answers by itself, in a language: how a prompt is used. It is
	// nil for others.
	reply func(lang string) string
}

// read takes the last user message, detects its language in code, and puts the prompt of
// a server that it names, and the attachments, in their places.
func (a *Agent) read(ctx context.Context, w task) (question, error) {
	message, err := w.turn.Asked()
	if err != nil {
		return question{}, err
	}
	q := question{message: message, asked: message.Said()}
	q.typed = q.asked
	sum := sha256.Sum256([]byte(q.asked))
	w.out.Mark("1.2", "Extracted user message", "length", len([]rune(q.asked)), "sha256", hex.EncodeToString(sum[:4]))
	w.out.Between(ctx, "QUESTION", q.asked)
	q.lang, q.langSure = subject.Detect(q.asked, "")
	w.out.Trace.Asked(q.asked)
	attached, err := a.mentioned(ctx, w, &q)
	if err != nil {
		return q, err
	}
	if q, err = a.expand(ctx, w, q); err != nil {
		return q, err
	}
	return a.attach(w, q, append(slices.Clip(w.turn.Attachments), attached...))
}

// mentioned reads the resources that the question names. What cannot be read is told instead
// of an answer. A client with a key gets no further than the tools of its assistant do.
func (a *Agent) mentioned(ctx context.Context, w task, q *question) ([]Attachment, error) {
	may := func(server string) bool {
		return w.turn.Owner == "" || offer.Globs(w.assistant.Tools).MayNeed(server)
	}
	attached, unread, err := Read(ctx, MentionConfig{Tools: a.cfg.Tools, Await: a.tools.AwaitNamed, May: may}, q.typed)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		q.reply = func(lang string) string { return prompts.Unreadable(lang, unread) }
		return nil, w.out.Warn(err.Error())
	}
	return attached, nil
}

// attach puts the attachments behind the question, and the text files that stand in it. What a person
// uploads others have written, its name too, so it is read like what a server gives.
func (a *Agent) attach(w task, q question, attached []Attachment) (question, error) {
	q.read = append(q.read, Pictures(q.message)...)
	parts, files := apart(q.message.Parts)
	if attached = append(files, attached...); len(attached) == 0 {
		return q, nil
	}
	largest := a.resultBytes()
	results := make([]schemas.ToolResult, len(attached))
	for i, at := range attached {
		text := schemas.TextOutput(at.Text)
		results[i] = schemas.ToolResult{ToolName: at.Name, Server: cmp.Or(at.Server, File(at.Name)), Output: text}
		if len(text) > largest {
			if err := w.out.Warn(fmt.Sprintf("%s is longer than the %d bytes that a model is shown of it; the rest is left out", at.Name, largest)); err != nil {
				return q, err
			}
		}
		q.read = append(q.read, toolhandler.Reading{Server: results[i].Server, Text: at.Name + "\n" + at.Text})
	}
	results, q.ordered = a.disarmed(w, results)
	for i, result := range results {
		shown := prompts.Result(result, largest)
		if attached[i].Server != "" { // a file's name stands in the fence
			shown = result.ToolName + ":\n" + shown
		}
		parts = append(parts, schemas.Part{Kind: schemas.PartContext, Text: shown, Result: &result})
	}
	for _, at := range attached {
		parts = append(parts, at.Media...)
	}
	q.message.Parts = parts
	w.out.Mark("1.4", "Attached to the question", "texts", len(results))
	return q, nil
}

// apart takes the text files out of the parts of a message.
func apart(all []schemas.Part) (parts []schemas.Part, files []Attachment) {
	for _, p := range all {
		if p.Kind == schemas.PartContext && p.Name != "" {
			files = append(files, Attachment{Name: p.Name, Text: p.Text})
		} else {
			parts = append(parts, p)
		}
	}
	return parts, files
}

// disarmed returns the results without the sentences in them that speak to a model, and
// whether there were any. An assistant that keeps to a subject never needs them; others
// get their results as they are.
func (a *Agent) disarmed(w task, results []schemas.ToolResult) (clean []schemas.ToolResult, ordered bool) {
	if w.guard == nil {
		return results, false
	}
	clean = slices.Clone(results)
	for i, result := range clean {
		output, n := answer.Disarm(result.Output)
		if n == 0 {
			continue
		}
		clean[i].Output, ordered = output, true
		w.out.Mark("6.4", "Sentences left out of a result: they give orders to a model", "tool", result.ToolName, "server", result.Server, "sentences", n)
	}
	return clean, ordered
}

// settled lets the conversation's language break a tie.
func (q question) settled(past recalled) question {
	if !q.langSure {
		q.lang, q.langSure = subject.Detect(q.typed, past.language())
	}
	return q
}

// reply answers a prompt that cannot be used as it was typed. Like a refusal it is not
// saved.
func (a *Agent) reply(w task, q question) error {
	if err := w.out.Say(q.reply(q.lang)); err != nil {
		return err
	}
	return a.done(w, q.lang, &answer.Done{Finish: "stop"})
}
