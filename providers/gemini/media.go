package gemini

import (
	"fmt"
	"slices"
	"strings"

	"google.golang.org/genai"

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
	if isGemini3(model) {
		return []mediaForm{inside, beside, unshown}
	}
	return []mediaForm{beside, unshown}
}

// mediaForm returns the best form that the model has not rejected.
func (p *Provider) mediaForm(model string) mediaForm {
	forms := mediaForms(model)
	return forms[min(p.lessons.Refused(model, wire.ParamMedia), len(forms)-1)]
}

// show adds a result's files to its response, or a note to its answer that they are not shown, and
// returns those that go after all responses.
func (h *history) show(into *genai.FunctionResponse, answer map[string]any, files []schemas.Part) (behind []*genai.Part) {
	for _, file := range files {
		data, err := media(file)
		switch {
		case err != nil || h.form == unshown || !known(data.MIMEType):
			answer["files"] = wire.Unseen
		case h.form == inside && !strings.HasPrefix(data.MIMEType, "audio/") && !strings.HasPrefix(data.MIMEType, "video/"):
			into.Parts = append(into.Parts, genai.NewFunctionResponsePartFromBytes(data.Data, data.MIMEType))
			h.shown = true
		default:
			behind = append(behind, &genai.Part{InlineData: data})
			h.shown = true
		}
	}
	return behind
}

// media decodes the data URL of an image or a file.
func media(p schemas.Part) (*genai.Blob, error) {
	mime, raw, err := schemas.DataOf(p.Text)
	switch {
	case p.Kind == schemas.PartImage && err != nil:
		return nil, fmt.Errorf("an image %w: Gemini does not fetch addresses", err)
	case err != nil:
		return nil, fmt.Errorf("the file %q %w", p.Name, err)
	}
	if takes(mime) {
		return &genai.Blob{MIMEType: mime, Data: raw}, nil
	}
	return nil, fmt.Errorf("the file %q is %s: Gemini takes text, images, audio, video and PDF", p.Name, mime)
}

// known reports whether the service supports files of this type: it supports only some image
// types.
func known(mimeType string) bool {
	kind, isImage := strings.CutPrefix(mimeType, "image/")
	return !isImage || slices.Contains([]string{"png", "jpeg", "webp", "heic", "heif"}, kind)
}

// takes reports whether the API takes files of a type.
func takes(mimeType string) bool {
	return slices.ContainsFunc([]string{"image/", "audio/", "video/", "application/pdf"}, func(kind string) bool { return strings.HasPrefix(mimeType, kind) })
}

// TakesFile reports whether the API takes a file of a media type.
func (p *Provider) TakesFile(media string) (ok, sure bool) { return takes(media), true }
