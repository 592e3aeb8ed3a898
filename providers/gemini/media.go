package gemini

import (
	"slices"
	"strings"

	"molar/providers"
	"molar/providers/wire"
	"molar/schemas"
)

// A mediaForm is how the files of a tool's result are sent.
type mediaForm int

const (
	// inside the function response, which Gemini 3 and later support for images and PDF.
	inside mediaForm = iota
	// after the last function response.
	beside
	// unshown files are only mentioned.
	unshown
)

// mediaForms returns the forms that a model may support, the best first.
func mediaForms(model string) []mediaForm {
	if wantsSignatures(model) {
		return []mediaForm{inside, beside, unshown}
	}
	return []mediaForm{beside, unshown}
}

// paramMedia names the files of tool results as a parameter.
const paramMedia = "files of results"

// mediaForm returns the best form that the model has not rejected.
func (p *Provider) mediaForm(model string) mediaForm {
	forms := mediaForms(model)
	return forms[min(p.quirks.Refused(model, paramMedia), len(forms)-1)]
}

// learnMedia reads a refusal of the files of tool results, which are sent in another form from
// now on. If the person's messages hold files too, it learns nothing, since those may be the
// cause.
func (p *Provider) learnMedia(q *query, e *providers.Error, message string) bool {
	return q.shown && e.Status == 400 && wire.RefusesMedia(message) && p.quirks.Learn(q.model, paramMedia, len(mediaForms(q.model))-1)
}

// show adds a result's files to its response, and returns those that go after all responses.
func (h *history) show(into *functionResponse, files []schemas.Part) (behind []part) {
	for _, file := range files {
		data, err := media(file)
		switch {
		case err != nil || h.form == unshown || !known(data.MIMEType):
			into.Response["files"] = wire.Unseen
		case h.form == inside && !strings.HasPrefix(data.MIMEType, "audio/") && !strings.HasPrefix(data.MIMEType, "video/"):
			into.Parts = append(into.Parts, part{InlineData: data})
			h.shown = true
		default:
			behind = append(behind, part{InlineData: data})
			h.shown = true
		}
	}
	return behind
}

// known reports whether the service supports files of this type: it supports only some image
// types.
func known(mimeType string) bool {
	kind, isImage := strings.CutPrefix(mimeType, "image/")
	return !isImage || slices.Contains([]string{"png", "jpeg", "webp", "heic", "heif"}, kind)
}
