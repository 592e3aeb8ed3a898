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
	// A File is a file as clients send it.
	File struct {
		ID   string `json:"file_id"`
		Name string `json:"filename"`
		Data string `json:"file_data"`
	}
	// An Audio is a sound as clients send it.
	Audio struct {
		Data   string `json:"data"`
		Format string `json:"format"`
	}
)

// unnamed is the name of a file without one.
const unnamed = "file"

// Parts reads a file sent as a data URL or as plain base64; an image is a file like any other.
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

// Attach removes the text files from the parts of a message: the model reads them fenced, next
// to the question.
func Attach(parts []schemas.Part, at string) (rest []schemas.Part, texts []agent.Attachment, err error) {
	for _, p := range parts {
		media, data, dataErr := schemas.DataOf(p.Text)
		if p.Kind != schemas.PartFile || dataErr != nil || !schemas.IsText(media) {
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

// Settle puts text files back into the last message of role user, which they belong to, since
// it is no longer the question. No model reads them there, but answers may refer to them.
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

// FileBytes returns approximately how many bytes of a body the files of a message had, as
// split by [Attach]: base64 writes three bytes in four.
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
