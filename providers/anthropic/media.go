package anthropic

import (
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"

	"molar/providers/wire"
	"molar/schemas"
)

// source is where a file's data is.
type source struct {
	Type      string `json:"type"`
	MediaType string `json:"media_type,omitempty"`
	Data      string `json:"data,omitempty"`
	URL       string `json:"url,omitempty"`
}

// fileBlock returns a file in the API's form: an image, a PDF, or a text.
func fileBlock(p schemas.Part) (block, error) {
	image := p.Kind == schemas.PartImage
	if image && (strings.HasPrefix(p.Text, "https://") || strings.HasPrefix(p.Text, "http://")) {
		return block{Type: "image", Source: &source{Type: "url", URL: p.Text}}, nil
	}
	media, data, err := schemas.DataOf(p.Text)
	switch {
	case err != nil && image:
		return block{}, fmt.Errorf("an image must be an http(s) address or a data URL: %w", err)
	case err != nil:
		return block{}, fmt.Errorf("the file %q %w", p.Name, err)
	case slices.Contains([]string{"image/png", "image/jpeg", "image/gif", "image/webp"}, media):
		return block{Type: "image", Source: &source{Type: "base64", MediaType: media, Data: base64.StdEncoding.EncodeToString(data)}}, nil
	case media == "application/pdf":
		return block{Type: "document", Source: &source{Type: "base64", MediaType: media, Data: base64.StdEncoding.EncodeToString(data)}, Title: p.Name}, nil
	case strings.HasPrefix(media, "text/") && len(data) > 0:
		return block{Type: "document", Source: &source{Type: "text", MediaType: "text/plain", Data: strings.ToValidUTF8(string(data), "�")}, Title: p.Name}, nil
	case image:
		return block{}, errors.New("the image is " + media + ": this API takes PNG, JPEG, GIF and WebP")
	}
	return block{}, fmt.Errorf("the file %q is %s: this API takes text, images and PDF", p.Name, media)
}

// resultFiles returns the files of a result for its block, and whether some cannot be shown. The
// service takes text only in the result of a failed call.
func (h *history) resultFiles(r *schemas.ToolResult) (files []block, unseen bool) {
	for _, file := range r.Media {
		b, err := fileBlock(file)
		if err != nil || h.blind || r.IsError {
			unseen = true
			continue
		}
		files = append(files, b)
		h.shown = true
	}
	return files, unseen
}

// resultText returns what a result's block says, with a note if some of its files cannot be shown.
func (h *history) resultText(p schemas.Part, unseen bool) string {
	text := p.Text
	if text == "" {
		text = p.Result.OutputText()
	}
	if text = h.harmless(text); unseen {
		text += "\n" + wire.Unseen
	}
	return text
}

// TakesFile reports whether the API takes a file of a media type.
func (p *Provider) TakesFile(media string) (takes, sure bool) {
	return media == "application/pdf", true // texts may be in any encoding
}
