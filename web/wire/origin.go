package wire

import (
	"maps"
	"slices"
	"strings"

	"molar/schemas"
)

// PartFields are Molar's own fields of a text part of a message.
type PartFields struct {
	// Origin says who wrote the text, if it is not the person who sends the message.
	Origin string `json:"origin,omitempty"`
}

// Origins returns the origins that a client may name, with those of their texts.
func Origins() map[string]schemas.Origin {
	return map[string]schemas.Origin{
		"person": "", "client": schemas.FromClient, "web": schemas.FromWeb, "file": schemas.FromFile, "paste": schemas.FromPaste,
	}
}

// TextParts returns the part of a text; none for an empty one. at is the path of the part in errors.
func TextParts(text string, own *PartFields, at string) ([]schemas.Part, error) {
	p := schemas.Part{Kind: schemas.PartText, Text: text}
	if own != nil && own.Origin != "" {
		var known bool
		if p.Origin, known = Origins()[own.Origin]; !known {
			return nil, Invalid(at+".molar.origin", "there is no origin %q; use one of %s", Clip(own.Origin, 40), strings.Join(slices.Sorted(maps.Keys(Origins())), ", "))
		}
	}
	if text == "" {
		return nil, nil
	}
	return []schemas.Part{p}, nil
}
