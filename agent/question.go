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
	// message is what the model reads: the person's own words and attachments.
	message schemas.Message
	// asked is the text that is judged and searched for, typed what is saved. They differ
	// where the person used a server's prompt.
	asked, typed string
	// words are those of the text that the person typed or pasted themselves.
	words    string
	lang     string
	langSure bool
	// server is the one whose prompt was used; read holds the texts in the message that the person did
	// not type.
	server string
	read   []toolhandler.Reading
	// from are the origins of the texts in the person's own message that they did not type.
	from []schemas.Origin
	// notice is the emergency notice that was shown, if any.
	notice string
	// approved are the previous answer's pending calls if the question is a plain yes, dropped the
	// same calls if it is not.
	approved, dropped pendingCalls
	// reply returns the host's own answer in a language: how to use a prompt. It is nil for other
	// questions.
	reply func(lang string) string
}

// read returns the last user message with its language, as code detects it, and with the server's
// prompt that it names and the attachments inserted.
func (a *Agent) read(ctx context.Context, w *task) (question, error) {
	message, err := w.turn.Asked()
	if err != nil {
		return question{}, err
	}
	q := question{message: message.OneText(), asked: message.Said()}
	q.typed = q.asked
	q.words, q.read = textsIn(message, w.turn.Data)
	q.from = originsOf(q.read)
	sum := sha256.Sum256([]byte(q.asked))
	w.out.Mark("1.2", "Extracted user message", "length", len([]rune(q.asked)), "sha256", hex.EncodeToString(sum[:4]))
	w.out.Between(ctx, "QUESTION", q.asked)
	q.lang, q.langSure = subject.Detect(q.asked, "")
	w.out.Trace.Asked(q.asked)
	attached, err := a.readMentions(ctx, w, &q)
	if err != nil {
		return q, err
	}
	if q, err = a.expand(ctx, w, q); err != nil {
		return q, err
	}
	q.message = w.shorten(q.message, originOf(q.read), a.resultBytes(ctx, w, 1))
	return a.attach(ctx, w, q, append(slices.Clip(w.turn.Attachments), attached...))
}

// shorten returns the question with a text that is too long cut to so many bytes; the whole can be
// read with read_result, as a text of its origin.
func (w *task) shorten(m schemas.Message, origin schemas.Origin, bytes int) schemas.Message {
	if said := m.Said(); len(said) > bytes {
		whole := asResult(said)
		whole.Server = string(origin)
		w.results.Hold(whole, bytes)
	}
	return shortened(m, bytes)
}

// shortened is [task.shorten] for a message whose text is held already.
func shortened(m schemas.Message, bytes int) schemas.Message {
	said := m.Said()
	if bytes <= 0 || len(said) <= bytes {
		return m
	}
	parts := slices.DeleteFunc(slices.Clone(m.Parts), func(p schemas.Part) bool { return p.Kind == schemas.PartText })
	short := schemas.Part{Kind: schemas.PartText, Text: prompts.Shorten(asResult(said), bytes).OutputText()}
	m.Parts = append([]schemas.Part{short}, parts...)
	return m
}

// asResult returns a person's text as a result: its id is the same in every turn.
func asResult(text string) schemas.ToolResult {
	return schemas.ToolResult{ID: textID("question", text), Output: schemas.TextOutput(text)}
}

// textID returns the id of a text that is not the result of a call.
func textID(kind, text string) string {
	sum := sha256.Sum256([]byte(text))
	return kind + "-" + hex.EncodeToString(sum[:4])
}

// mayNeed reports whether the person's groups could allow a tool of the server. The host's own servers
// are everybody's, but for visitors: what they type names no prompt and no resource of any server.
func (t *Turn) mayNeed(server string) bool {
	return !t.Visitor && (t.Rights == nil || server == schemas.MemoryServer || server == schemas.ToolServer || slices.ContainsFunc(t.Rights.Groups, func(g schemas.Group) bool {
		return len(g.Tools) == 0 || offer.Globs(g.Tools).MayNeed(server)
	}))
}

// readMentions reads the resources that the question names. One that cannot be read is reported
// instead of an answer. A client with a key reaches only the servers of its assistant's tools. The documents
// of the host's own tool server have rights of their own, so no question reads them.
func (a *Agent) readMentions(ctx context.Context, w *task, q *question) ([]Attachment, error) {
	may := func(server string) bool {
		return server != schemas.ToolServer && (w.turn.Owner == "" || offer.Globs(w.assistant.Tools).MayNeed(server)) && w.turn.mayNeed(server)
	}
	attached, unread, err := read(ctx, mentionConfig{Tools: a.cfg.Tools, Caller: w.caller(), Await: a.tools.AwaitNamed, May: may}, q.typed)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		q.reply = func(lang string) string { return prompts.Unreadable(lang, unread) }
		return nil, w.out.Warn(answer.CodeFileUnread, err.Error())
	}
	return attached, nil
}

// attach appends the attachments and the message's text files to the question. Others may have
// written an uploaded file and its name, so both are treated like a server's text.
func (a *Agent) attach(ctx context.Context, w *task, q question, attached []Attachment) (question, error) {
	read, warnings := a.readDocuments(ctx, w, q.message.Parts)
	attached, more := a.readAttached(ctx, w, attached)
	for _, text := range append(warnings, more...) {
		if err := w.out.Warn(answer.CodeFileUnread, text); err != nil {
			return q, err
		}
	}
	q.message.Parts = read
	q.read = append(q.read, filesIn(q.message)...)
	parts, files := splitFiles(read)
	if attached = append(files, attached...); len(attached) == 0 {
		return q, nil
	}
	var words, texts, others []schemas.Part // in the order in which later turns show them
	for _, p := range parts {
		if p.Kind == schemas.PartImage || p.Kind == schemas.PartFile {
			others = append(others, p)
		} else {
			words = append(words, p)
		}
	}
	largest := a.attachedBytes(ctx, w, len(attached))
	results := make([]schemas.ToolResult, len(attached))
	for i, at := range attached {
		text := schemas.TextOutput(at.Text)
		results[i] = schemas.ToolResult{ID: textID("file", at.Text), ToolName: at.Name, Server: cmp.Or(at.Server, string(file(at.Name))), Output: text}
		origin := schemas.Origin(results[i].Server)
		if at.Server != "" {
			origin = w.catalogue.Named(at.Server, map[string]string{"uri": at.Name})
		}
		q.read = append(q.read, toolhandler.Reading{Origin: origin, Text: at.Name + "\n" + at.Text})
	}
	for i, result := range results {
		if result = w.results.Hold(result, largest); result.Cut != nil && w.route.Offline { // nobody reads on
			if err := w.out.Warn(answer.CodeFileUnread, fmt.Sprintf("%s is longer than the %d bytes that a model is shown of it; the rest is left out", result.ToolName, largest)); err != nil {
				return q, err
			}
		}
		texts = append(texts, attachedPart(result, attached[i].Server != "")) // the fence holds a file's name
	}
	for _, at := range attached {
		others = append(others, at.Media...)
	}
	q.message.Parts = slices.Concat(words, texts, others)
	w.out.Mark("1.4", "Attached to the question", "texts", len(results))
	return q, nil
}

// attachedPart returns an attached text as a part of the question.
func attachedPart(result schemas.ToolResult, named bool) schemas.Part {
	shown := prompts.Result(result, 0)
	if named {
		shown = result.ToolName + ":\n" + shown
	}
	return schemas.Part{Kind: schemas.PartContext, Text: shown, Result: &result}
}

// splitFiles separates the text files from the other parts of a message.
func splitFiles(all []schemas.Part) (parts []schemas.Part, files []Attachment) {
	for _, p := range all {
		if p.Kind == schemas.PartContext && p.Name != "" {
			files = append(files, Attachment{Name: p.Name, Text: p.Text})
		} else {
			parts = append(parts, p)
		}
	}
	return parts, files
}

// settleLanguage uses the conversation's language where the question's is not sure.
func (q question) settleLanguage(past recalled) question {
	if !q.langSure {
		q.lang, q.langSure = subject.Detect(q.typed, past.language())
	}
	return q
}

// reply answers a prompt that cannot be used as typed. Like a refusal it is not saved.
func (a *Agent) reply(ctx context.Context, w *task, q question) error {
	if err := w.out.Say(q.reply(q.lang)); err != nil {
		return err
	}
	return a.done(ctx, w, q.lang, &answer.Done{Finish: "stop"})
}
