package openai

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"molar/schemas"
)

// A media is a file in the forms of the two wires: an image by its address, a PDF as a data URL, or
// a sound as base64 in one of two formats.
type media struct {
	image      string
	name, data string
	sound      string // the format
}

func isMedia(p schemas.Part) bool { return p.Kind == schemas.PartImage || p.Kind == schemas.PartFile }

// mediaOf returns a file that the APIs take, or why they do not.
func mediaOf(p schemas.Part) (media, error) {
	if p.Kind == schemas.PartImage {
		if !isAddress(p.Text) {
			return media{}, errors.New("an image must be a data URL or an http(s) address")
		}
		return media{image: p.Text}, nil
	}
	mime, _, err := schemas.DataOf(p.Text)
	if err != nil {
		return media{}, fmt.Errorf("the file %q %w", p.Name, err)
	}
	_, encoded, _ := strings.Cut(p.Text, ",")
	switch mime {
	case "application/pdf":
		return media{name: cmp.Or(p.Name, "file.pdf"), data: p.Text}, nil
	case "audio/wav", "audio/x-wav", "audio/wave":
		return media{sound: "wav", data: encoded}, nil
	case "audio/mpeg", "audio/mp3":
		return media{sound: "mp3", data: encoded}, nil
	}
	return media{}, fmt.Errorf("the file %q is %s: this API takes text, images, PDF, WAV and MP3", p.Name, mime)
}

func isAddress(s string) bool {
	return strings.HasPrefix(s, "data:") || strings.HasPrefix(s, "https://") || strings.HasPrefix(s, "http://")
}

// canShow reports whether a file of a result can be shown to a model that sees.
func canShow(p schemas.Part) bool {
	_, err := mediaOf(p)
	return err == nil && (p.Kind != schemas.PartImage || isPicture(p))
}

// isPicture reports whether vision models accept an image's type.
func isPicture(p schemas.Part) bool {
	media, _, _ := schemas.DataOf(p.Text)
	return slices.Contains([]string{"image/png", "image/jpeg", "image/gif", "image/webp"}, media)
}

// TakesFile reports whether the APIs take a file of a media type. Of the servers of others few take PDF.
func (p *Provider) TakesFile(media string) (takes, sure bool) {
	_, err := mediaOf(schemas.Part{Kind: schemas.PartFile, Text: "data:" + media + ";base64,"})
	return err == nil, p.original || media != "application/pdf"
}
