package mcpclients_test

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"molar/mcpclients"
	"molar/schemas"
)

func TestDecodeResult(t *testing.T) {
	long := strings.Repeat("é", 100)
	for _, tc := range []struct{ name, in, want string }{
		{"structured beats text", `{"structuredContent":{"n":9007199254740993},"content":[{"type":"text","text":"x"}]}`, `{"n":9007199254740993}`},
		{"structured without content", `{"structuredContent":[1, 2]}`, `[1,2]`},
		{"structured that is not strict", `{"structuredContent":{"a":1,"a":2},"content":[{"type":"text","text":"x"}]}`, `"x"`},
		{"structured that is not strict, alone", `{"structuredContent":{"a":1,"A":2}}`, `"{\"a\":1,\"A\":2}"`},
		{"null structured", `{"structuredContent":null,"content":[{"type":"text","text":"x"}]}`, `"x"`},
		{"text that is an object", `{"content":[{"type":"text","text":" {\"a\": 9007199254740993} "}]}`, `{"a":9007199254740993}`},
		{"text that is a number stays text", `{"content":[{"type":"text","text":"42"}]}`, `"42"`},
		{"text that only looks like JSON", `{"content":[{"type":"text","text":"[see below]"}]}`, `"[see below]"`},
		{"two texts", `{"content":[{"type":"text","text":"a"},{"type":"text","text":"b<c>"}]}`, `"a\nb<c>"`},
		{"nothing", `{}`, `""`},
		{"content as a string", `{"content":"plain"}`, `"plain"`},
		{"content as one item", `{"content":{"type":"text","text":"one"}}`, `"one"`},
		{"image", `{"content":[{"type":"image","mimeType":"image/png","data":"AAAAAAAA"}]}`, `"[image, image/png, 6 bytes]"`},
		{"image of no kind", `{"content":[{"type":"image","data":"iVBORw0KGgoAAAAA"}]}`, `"[image, image/png, 12 bytes]"`},
		{"image that is none", `{"content":[{"type":"image","mimeType":"image/png","data":"%%%%"}]}`, `"[image, image/png, 3 bytes, left out]"`},
		{"text resource", `{"content":[{"type":"resource","resource":{"uri":"a://b","text":"inside"}}]}`, `"inside"`},
		{"binary resource", `{"content":[{"type":"resource","resource":{"uri":"a://b","blob":"AAAA"}}]}`, `"[resource a://b, unknown type, 3 bytes, left out]"`},
		{"text resource in bytes", `{"content":[{"type":"resource","resource":{"uri":"a://b","mimeType":"text/plain","blob":"aGVsbG8="}}]}`, `"hello"`},
		{"unreadable item", `{"content":[7,{"type":"text","text":"x"}]}`, `"[content that cannot be read was left out]\nx"`},
		{"long text", `{"content":[{"type":"text","text":"` + long + `"}]}`, `"` + strings.Repeat("é", 31) + `\n[138 of 200 bytes were left out]"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := mcpclients.Result(json.RawMessage(tc.in), 63)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, string(got.Output)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	t.Run("links", func(t *testing.T) {
		got, err := mcpclients.Result(json.RawMessage(`{"content":[{"type":"resource_link","uri":"https://a.example/x","name":"A"},
			{"type":"resource_link","uri":"file:///etc/passwd","name":"B"},{"type":"resource_link","uri":"javascript:alert(1)"}]}`), 1000)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]schemas.Source{{Title: "A", URL: "https://a.example/x"}}, got.Links); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if want := `"A https://a.example/x\nB file:///etc/passwd\njavascript:alert(1)"`; string(got.Output) != want {
			t.Errorf("output %s", got.Output)
		}
	})
}

// Images, sounds and PDF become parts in addition to the text, which names them; other bytes are
// only named.
func TestResult_Media(t *testing.T) {
	got, err := mcpclients.Result(json.RawMessage(`{"structuredContent":{"n":1},"content":[
		{"type":"image","mimeType":"image/png; q=1","data":"AAAA"},
		{"type":"audio","mimeType":"audio/wav","data":"BBBB"},
		{"type":"resource","resource":{"uri":"file:///a.pdf","mimeType":"application/pdf","blob":"CCCC"}},
		{"type":"resource","resource":{"uri":"file:///a.zip","mimeType":"application/zip","blob":"DDDD"}},
		{"type":"resource","resource":7}]}`), 1000)
	if err != nil {
		t.Fatal(err)
	}
	want := []schemas.Part{
		{Kind: schemas.PartImage, Text: "data:image/png;base64,AAAA"},
		{Kind: schemas.PartFile, Text: "data:audio/wav;base64,BBBB"},
		{Kind: schemas.PartFile, Name: "file:///a.pdf", Text: "data:application/pdf;base64,CCCC"},
	}
	if diff := cmp.Diff(want, got.Media); diff != "" || string(got.Output) != `{"n":1}` {
		t.Errorf("%s (-want +got):\n%s", got.Output, diff)
	}
	many, err := mcpclients.Result(json.RawMessage(`{"content":[`+strings.Repeat(`{"type":"image","data":"iVBORw0KGgoAAAAA"},`, 20)+`null]}`), 1000)
	if err != nil || len(many.Media) != 16 || strings.Count(string(many.Output), "left out") != 4 {
		t.Errorf("%d parts, %s, %v", len(many.Media), many.Output, err)
	}
}

// Bytes are expensive for a model and without use, so they are left out wherever they occur.
func TestResult_WithoutBytes(t *testing.T) {
	raw := make([]byte, 1500)
	for i := range raw {
		raw[i] = byte(i * i * 31 >> 3)
	}
	bytes := base64.StdEncoding.EncodeToString(raw)
	for _, tc := range []struct{ name, in, want string }{
		{"structured bytes", `{"structuredContent":{"n":9007199254740993,"content":[{"type":"image","data":"` + bytes + `"}]},"content":[]}`, `{"n":9007199254740993,"content":[{"type":"image","data":"[1500 bytes in base64, left out]"}]}`},
		{"structured bytes as an address", `{"structuredContent":{"src":"data:image/png;base64,` + bytes + `"}}`, `{"src":"[1500 bytes in base64, left out]"}`},
		{"structured bytes in lines", `{"structuredContent":["` + strings.ReplaceAll(bytes, "/", `\n\/`) + `"]}`, `["[1500 bytes in base64, left out]"]`},
		{"bytes in text that is JSON", `{"content":[{"type":"text","text":"{\"d\":\"` + bytes + `\"}"}]}`, `{"d":"[1500 bytes in base64, left out]"}`},
		{"text that is bytes", `{"content":[{"type":"text","text":"` + bytes + `"}]}`, `"[1500 bytes in base64, left out]"`},
		{"bytes as an address in text", `{"content":[{"type":"text","text":"![a](data:image/png;base64,` + bytes + `) b"}]}`, `"![a]([1500 bytes in base64, left out]) b"`},
		{"a long word that is no base64", `{"structuredContent":["` + strings.Repeat("ACGT", 300) + `"]}`, `["` + strings.Repeat("ACGT", 300) + `"]`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := mcpclients.Result(json.RawMessage(tc.in), 64<<10)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, string(got.Output)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func FuzzDecodeResult(f *testing.F) {
	f.Add([]byte(`{"content":[{"type":"text","text":"{\"a\":1}"}],"isError":true}`))
	f.Add([]byte(`{"structuredContent":{"a":1e400}}`))
	f.Add([]byte("{\"content\":\"\xff\"}"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		result, err := mcpclients.Result(raw, 100)
		if err == nil && schemas.CheckJSON(result.Output) != nil {
			t.Errorf("output %q is not strict JSON", result.Output)
		}
	})
}
