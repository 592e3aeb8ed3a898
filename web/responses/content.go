package responses

import (
	"encoding/json"
	"fmt"
	"strings"

	"molar/agent"
	"molar/schemas"
	"molar/schemas/responses"
	"molar/web/wire"
)

// readContent reads a message's content, a text or a list of parts. files are the text files in it.
func readContent(it responses.Item, at string) (parts []schemas.Part, files []agent.Attachment, err error) {
	if !wire.IsSet(it.Content) {
		return nil, nil, nil
	}
	if it.Content[0] == '"' {
		var text string
		err := wire.Decode(it.Content, &text, at)
		return textParts(text), nil, err
	}
	var list []responses.Part
	if it.Content[0] != '[' {
		return nil, nil, wire.Invalid(at, "%s must be a text or a list of parts", at)
	}
	if err := wire.Decode(it.Content, &list, at); err != nil {
		return nil, nil, err
	}
	for i, p := range list {
		here := fmt.Sprintf("%s[%d]", at, i)
		if it.Role != "user" && (p.Type == "input_image" || p.Type == "input_file" || p.Type == "input_audio") {
			return nil, nil, wire.Invalid(here+".type", "only messages of role user may hold images and files")
		}
		switch p.Type {
		case "input_text", "output_text", "text", "summary_text", "reasoning_text":
			text, err := wire.TextParts(p.Text, (*wire.PartFields)(p.Molar), here)
			if err != nil {
				return nil, nil, err
			}
			parts = append(parts, text...)
		case "refusal":
			parts = append(parts, textParts(p.Refusal)...)
		case "input_image":
			if p.FileID != "" {
				return nil, nil, wire.Unsupported(here+".file_id", "no files are stored here; send the image as a data URL in image_url")
			}
			image, err := wire.Image(p.ImageURL, here+".image_url")
			if err != nil {
				return nil, nil, err
			}
			parts = append(parts, image...)
		case "input_file":
			if p.FileURL != "" {
				return nil, nil, wire.Unsupported(here+".file_url", "this host fetches no files; send the file itself in file_data")
			}
			file, err := wire.File{ID: p.FileID, Name: p.Filename, Data: p.FileData}.Parts(here)
			if err != nil {
				return nil, nil, err
			}
			parts = append(parts, file...)
		case "input_audio":
			var audio wire.Audio
			if p.Audio != nil {
				audio = wire.Audio(*p.Audio)
			}
			sound, err := audio.Parts(here + ".input_audio")
			if err != nil {
				return nil, nil, err
			}
			parts = append(parts, sound...)
		default:
			return nil, nil, wire.Unsupported(here+".type", fmt.Sprintf("a content part of type %q is not supported", wire.Clip(p.Type, 40)))
		}
	}
	return wire.Attach(parts, at)
}

// readResult reads the output of a call, a text or a list of parts, as text and media. The text
// includes that of text files.
func readResult(raw json.RawMessage, at string) (string, []schemas.Part, error) {
	parts, files, err := readContent(responses.Item{Role: "user", Content: raw}, at)
	if err != nil {
		return "", nil, err
	}
	var text strings.Builder
	var media []schemas.Part
	for _, p := range parts {
		if p.Kind == schemas.PartText {
			text.WriteString(p.Text)
		} else {
			media = append(media, p)
		}
	}
	for _, f := range files {
		text.WriteString("\n" + f.Name + ":\n" + f.Text)
	}
	return text.String(), media, nil
}

func textParts(text string) []schemas.Part {
	if text == "" {
		return nil
	}
	return []schemas.Part{{Kind: schemas.PartText, Text: text}}
}
