package gemini

import (
	"slices"
	"strings"

	"molar/providers"
	"molar/providers/wire"
	"molar/schemas"
)

// A mediaForm is how the files of a tool's result go over the wire.
type mediaForm int

const (
	// inside the function response, which Gemini 3 and later take for images and PDF.
	inside mediaForm = iota
	// beside the function responses, behind the last of them.
	beside
	// unshown files are told of only.
	unshown
)

// mediaForms returns the forms that a model may take, the best first.
func mediaForms(model string) []mediaForm {
	if wantsSignatures(model) {
		return []mediaForm{inside, beside, unshown}
	}
	return []mediaForm{beside, unshown}
}

// paramMedia is the parameter that stands for the files of tools' results.
const paramMedia = "files of results"

// mediaForm is the form that the model has not refused.
func (p *Provider) mediaForm(model string) mediaForm {
	forms := mediaForms(model)
	return forms[min(p.quirks.Refused(model, paramMedia), len(forms)-1)]
}

// learnMedia reads a refusal of the files of tools' results, which go in another form from
// now on. A file of the person's own may be what is refused, and nothing is learnt then.
func (p *Provider) learnMedia(q *query, e *providers.Error, message string) bool {
	return q.shown && e.Status == 400 && wire.RefusesMedia(message) && p.quirks.Learn(q.model, paramMedia, len(mediaForms(q.model))-1)
}

// show puts the files of a result into its response, and returns those that stand behind all
// responses.
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

// known reports whether the service takes files of this type: of images not all.
func known(mimeType string) bool {
	kind, isImage := strings.CutPrefix(mimeType, "image/")
	return !isImage || slices.Contains([]string{"png", "jpeg", "webp", "heic", "heif"}, kind)
}
