package wire

import (
	"cmp"
	"encoding/base64"
	"slices"
	"strings"
	"unicode/utf8"

	"molar/agent"
	"molar/schemas"
)

type (
	// A File is a file in a message of a client.
	File struct {
		ID   string `json:"file_id"`
		Name string `json:"filename"`
		Data string `json:"file_data"`
	}
	// An Audio is a sound in a message of a client.
	Audio struct {
		Data   string `json:"data"`
		Format string `json:"format"`
	}
)

// unnamed is the name of a file without one.
const unnamed = "file"

// Parts reads a file, which is a data URL or base64. It may be an image.
func (f File) Parts(at string) ([]schemas.Part, error) {
	if f.Data == "" {
		if f.ID != "" {
			return nil, Invalid(at+".file_id", "no files are stored here: send the file itself in file_data")
		}
		return nil, Invalid(at+".file_data", "%s.file_data is missing", at)
	}
	address := f.Data
	if !strings.HasPrefix(address, "data:") {
		address = "data:;base64," + address
	}
	media, data, err := schemas.DataOf(address)
	if err != nil {
		return nil, Invalid(at+".file_data", "%s.file_data %v", at, err)
	}
	if media == "" || media == "application/octet-stream" {
		media = schemas.MediaOf(f.Name, data)
	}
	return []schemas.Part{schemas.FilePart(f.Name, media, data)}, nil
}

// Parts reads a sound.
func (a Audio) Parts(at string) ([]schemas.Part, error) {
	if a.Data == "" || a.Format == "" {
		return nil, Invalid(at, "%s needs data and format", at)
	}
	address := "data:audio/" + strings.ToLower(a.Format) + ";base64," + a.Data
	if _, _, err := schemas.DataOf(address); err != nil {
		return nil, Invalid(at+".data", "%s.data: the data is not base64", at)
	}
	return []schemas.Part{{Kind: schemas.PartFile, Name: "audio." + a.Format, Text: address}}, nil
}

// Attach separates the text files from the other parts of a message: they are attached to the
// question, and the model reads them fenced. at is the path of the parts, for errors.
func Attach(parts []schemas.Part, at string) (rest []schemas.Part, texts []agent.Attachment, err error) {
	for _, p := range parts {
		media, data, dataErr := schemas.DataOf(p.Text)
		isText := p.Kind == schemas.PartFile && dataErr == nil && schemas.IsText(media)
		if !isText || p.Name != "" && !utf8.Valid(data) { // the name tells how to read another encoding
			rest = append(rest, p)
			continue
		}
		if !utf8.Valid(data) {
			return nil, nil, Invalid(at, "the file %q is text in another encoding than UTF-8", p.Name)
		}
		texts = append(texts, agent.Attachment{Name: cmp.Or(p.Name, unnamed), Text: string(data)})
	}
	return rest, texts, nil
}

// Settle adds the text files that [Attach] separated to the last message of role user, which they
// were attached to, when that message is no longer the question. No model reads them there, but
// answers may refer to them.
func Settle(messages []schemas.Message, files []agent.Attachment) {
	for i, m := range slices.Backward(messages) {
		if m.Role != schemas.RoleUser {
			continue
		}
		for _, f := range files {
			messages[i].Parts = append(slices.Clip(messages[i].Parts), schemas.Part{Kind: schemas.PartContext, Name: cmp.Or(f.Name, unnamed), Text: f.Text})
		}
		return
	}
}

// FileBytes returns the approximate size in a body, in bytes, of the files of a message. rest and
// texts are the results of [Attach].
func FileBytes(rest []schemas.Part, texts []agent.Attachment) int {
	n := 0
	for _, p := range rest {
		if p.Kind == schemas.PartImage || p.Kind == schemas.PartFile {
			n += len(p.Text)
		}
	}
	for _, a := range texts {
		n += base64.StdEncoding.EncodedLen(len(a.Text))
	}
	return n
}
