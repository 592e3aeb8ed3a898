package schemas

import (
	"encoding/base64"
	"errors"
	"mime"
	"net/http"
	"path"
	"slices"
	"strings"
)

// DataOf parses a base64 data URL: the media type without its parameters, in lower case, and the
// data. Its errors name the fault and do not quote the URL.
func DataOf(address string) (media string, data []byte, err error) {
	head, encoded, found := strings.Cut(address, ",")
	media, isData := strings.CutPrefix(head, "data:")
	media, isBase64 := strings.CutSuffix(media, ";base64")
	if !found || !isData || !isBase64 {
		return "", nil, errors.New("must be a base64 data URL, like data:application/pdf;base64,JVBERi0")
	}
	if data, err = base64.StdEncoding.DecodeString(encoded); err != nil {
		return "", nil, errors.New("the data is not base64")
	}
	media, _, _ = strings.Cut(media, ";")
	return strings.ToLower(strings.TrimSpace(media)), data, nil
}

// FilePart returns a file as a part: an image, or another file.
func FilePart(name, media string, data []byte) Part {
	p := Part{Kind: PartFile, Name: name, Text: "data:" + media + ";base64," + base64.StdEncoding.EncodeToString(data)}
	if strings.HasPrefix(media, "image/") {
		p.Kind = PartImage
	}
	return p
}

// MediaOf guesses the media type of a file by its content and name.
func MediaOf(name string, data []byte) string {
	media := http.DetectContentType(data)
	if strings.HasPrefix(media, "application/octet-stream") || strings.HasPrefix(media, "application/zip") {
		if known := mime.TypeByExtension(path.Ext(name)); known != "" {
			media = known
		}
	}
	media, _, _ = strings.Cut(media, ";")
	return media
}

// IsText reports whether files of a media type are text that a model can read.
func IsText(media string) bool {
	if strings.HasPrefix(media, "text/") || strings.HasSuffix(media, "+json") || strings.HasSuffix(media, "+xml") {
		return true
	}
	name, _ := strings.CutPrefix(media, "application/")
	return slices.Contains([]string{"json", "x-ndjson", "xml", "yaml", "x-yaml", "toml", "javascript", "csv", "sql", "x-sh"}, name)
}
