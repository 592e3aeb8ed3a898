package wire_test

import (
	"strings"
	"testing"

	"molar/providers"
	"molar/schemas"
)

// Each API gets a file in a form that it supports. An unsupported file is refused before anything is
// sent, and the error names the file.
func TestFiles(t *testing.T) {
	t.Parallel()
	file := func(name, media string) schemas.Part {
		return schemas.Part{Kind: schemas.PartFile, Name: name, Text: "data:" + media + ";base64,QUJD"}
	}
	image := schemas.Part{Kind: schemas.PartImage, Text: "data:image/png;base64,QUJD"}
	for _, tt := range []struct {
		part                                         schemas.Part
		openai, responses, gemini, ollama, anthropic string // part of the body, or "!" and a part of the error
	}{
		{image, `{"type":"image_url","image_url":{"url":"data:image/png;base64,QUJD"}}`, `{"type":"input_image","image_url":"data:image/png;base64,QUJD"}`, `{"inlineData":{"data":"QUJD","mimeType":"image/png"}}`, `"images":["QUJD"]`, `{"type":"image","source":{"type":"base64","media_type":"image/png","data":"QUJD"}`},
		{file("a.pdf", "application/pdf"), `{"type":"file","file":{"filename":"a.pdf","file_data":"data:application/pdf;base64,QUJD"}}`, `{"type":"input_file","filename":"a.pdf","file_data":"data:application/pdf;base64,QUJD"}`, `{"inlineData":{"data":"QUJD","mimeType":"application/pdf"}}`, `!"a.pdf" is application/pdf`, `{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"QUJD"},"title":"a.pdf"`},
		{file("a.mp3", "audio/mpeg"), `{"type":"input_audio","input_audio":{"data":"QUJD","format":"mp3"}}`, `{"type":"input_audio","input_audio":{"data":"QUJD","format":"mp3"}}`, `{"inlineData":{"data":"QUJD","mimeType":"audio/mpeg"}}`, `!"a.mp3" is audio/mpeg`, `!"a.mp3" is audio/mpeg`},
		{file("a.wav", "audio/wav"), `{"type":"input_audio","input_audio":{"data":"QUJD","format":"wav"}}`, `{"type":"input_audio","input_audio":{"data":"QUJD","format":"wav"}}`, `{"inlineData":{"data":"QUJD","mimeType":"audio/wav"}}`, `!takes text and images`, `!takes text, images and PDF`},
		{file("a.mp4", "video/mp4"), `!"a.mp4" is video/mp4`, `!"a.mp4" is video/mp4`, `{"inlineData":{"data":"QUJD","mimeType":"video/mp4"}}`, `!"a.mp4" is video/mp4`, `!"a.mp4" is video/mp4`},
		{file("a.zip", "application/zip"), `!"a.zip" is application/zip`, `!"a.zip" is application/zip`, `!"a.zip" is application/zip`, `!"a.zip" is application/zip`, `!"a.zip" is application/zip`},
		{schemas.Part{Kind: schemas.PartFile, Name: "b", Text: "https://a.example/b"}, `!"b" must be a base64 data URL`, `!"b" must be a base64 data URL`, `!"b" must be a base64 data URL`, `!"b" is no data URL`, `!"b" must be a base64 data URL`},
		{schemas.Part{Kind: schemas.PartImage, Text: "https://a.example/b.png"}, `{"type":"image_url","image_url":{"url":"https://a.example/b.png"}}`, `{"type":"input_image","image_url":"https://a.example/b.png"}`, `!base64 data URL`, `!data URL`, `{"type":"image","source":{"type":"url","url":"https://a.example/b.png"}`},
		{schemas.Part{Kind: schemas.PartImage, Text: "data:image/png;base64,%"}, ``, ``, `!not base64`, `!not base64`, `!not base64`},
	} {
		for _, w := range wires() {
			want := map[string]string{"openai": tt.openai, "responses": tt.responses, "gemini": tt.gemini, "ollama": tt.ollama, "anthropic": tt.anthropic}[w.name]
			s := &service{body: whole(w.says("ok", 2))}
			p := w.on(t, s)
			req := providers.Request{Model: "m", Messages: []schemas.Message{{Role: schemas.RoleUser, Parts: []schemas.Part{{Kind: schemas.PartText, Text: "look"}, tt.part}}}}
			_, _, err := read(t, p, req)
			fault, refused := strings.CutPrefix(want, "!")
			switch {
			case !refused && (err != nil || !strings.Contains(string(s.sent), want)):
				t.Errorf("%s, %s: %v, sent %s", w.name, tt.part.Name, err, s.sent)
			case refused && (providers.KindOf(err) != providers.KindInvalid || !strings.Contains(err.Error(), fault) || s.sent != nil):
				t.Errorf("%s, %s: %v, want %q; sent %s", w.name, tt.part.Name, err, fault, s.sent)
			}
		}
	}
}
