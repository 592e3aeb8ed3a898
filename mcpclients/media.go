package mcpclients

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"

	"molar/internal/text"
	"molar/schemas"
)

// maxMedia bounds the files of one result.
const maxMedia = 16

// bytes adds a file that some models can be shown, and returns its note for the text.
func (r *reading) bytes(kind, name, mimeType, encoded string) string {
	mimeType, _, _ = strings.Cut(strings.ToLower(text.Shorten(text.Visible(mimeType), 80)), ";")
	part, size := media(name, mimeType, encoded)
	if part == nil || len(r.media) == maxMedia {
		if mimeType == "" {
			mimeType = "unknown type"
		}
		return fmt.Sprintf("[%s, %s, %d bytes, left out]", kind, mimeType, size)
	}
	r.media = append(r.media, *part)
	mimeType, _, _ = schemas.DataOf(part.Text)
	return fmt.Sprintf("[%s, %s, %d bytes]", kind, mimeType, size)
}

// media returns the part for a file that some models can be shown, else nil, and its size in
// bytes.
func media(name, mimeType, encoded string) (*schemas.Part, int) {
	data, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil || len(data) == 0 {
		return nil, len(encoded) / 4 * 3
	}
	if mimeType == "" || mimeType == "application/octet-stream" {
		mimeType, _, _ = strings.Cut(http.DetectContentType(data), ";")
	}
	part := schemas.Part{Kind: schemas.PartFile, Name: name, Text: "data:" + mimeType + ";base64," + encoded}
	switch group, _, _ := strings.Cut(mimeType, "/"); {
	case group == "image":
		part.Kind = schemas.PartImage
	case group == "audio", group == "video", mimeType == "application/pdf":
	default:
		return nil, len(data)
	}
	return &part, len(data)
}
