package wire

import (
	"slices"
	"strings"
)

// Unseen notes for a model that files of a tool's result are not shown.
const Unseen = "[Files of this result cannot be shown to you.]"

// RefusesMedia reports whether a message rejects images or other files.
func RefusesMedia(message string) bool {
	message = strings.ToLower(message)
	return slices.ContainsFunc([]string{
		"image", "vision", "audio", "media", "mime type", "multimodal", "multi-modal", "modalit", "inline_data", "inlinedata",
		"function_response.parts", "mmproj", "roles must alternate", "content type", "expected `text`", "content part",
	}, func(sign string) bool { return strings.Contains(message, sign) })
}
