package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"molar/providers"
	"molar/schemas"
)

// Documents reads the text of documents.
type Documents interface {
	// Text returns the text of a file, with its pages and sheets marked. The error is [errors.ErrUnsupported]
	// for a kind that nothing reads, else it says why the file has no text.
	Text(ctx context.Context, name, media string, data []byte) (string, error)
}

// readDocuments replaces the files that the model's service does not take by their texts, as text files
// with the same names. For one that cannot be read the text says why, and so does a warning.
func (a *Agent) readDocuments(ctx context.Context, w *task, parts []schemas.Part) (read []schemas.Part, warnings []string) {
	if a.cfg.Documents == nil || !slices.ContainsFunc(parts, func(p schemas.Part) bool { return p.Kind == schemas.PartFile }) {
		return parts, nil
	}
	read = slices.Clone(parts)
	for i, p := range read {
		media, data, err := schemas.DataOf(p.Text)
		if p.Kind != schemas.PartFile || err != nil {
			continue
		}
		takes, sure := providers.TakesFile(w.route.Provider, media)
		if takes && sure {
			continue
		}
		text, err := a.cfg.Documents.Text(ctx, p.Name, media, data)
		switch {
		case err != nil && takes, errors.Is(err, errors.ErrUnsupported): // the service may read it, or says what it takes
			continue
		case err != nil:
			warnings = append(warnings, fmt.Sprintf("the file %s is not read: %v", shownName(p.Name), err))
			text = fmt.Sprintf("[This file could not be read: %v]", err)
		}
		read[i] = schemas.Part{Kind: schemas.PartContext, Name: cmp.Or(p.Name, "file"), Text: text}
	}
	return read, warnings
}

// readAttached does the same for the files of attachments, whose texts are their attachments' then.
func (a *Agent) readAttached(ctx context.Context, w *task, attached []Attachment) (all []Attachment, warnings []string) {
	all = slices.Clone(attached)
	for i, at := range all {
		parts, warned := a.readDocuments(ctx, w, at.Media)
		rest, texts := splitFiles(parts)
		if len(texts) == 0 {
			continue
		}
		all[i].Media = rest
		for _, t := range texts {
			all[i].Text = strings.TrimSpace(all[i].Text + "\n" + t.Text)
		}
		warnings = append(warnings, warned...)
	}
	return all, warnings
}
