package mcpclients

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

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
		{"image", `{"content":[{"type":"image","mimeType":"image/png","data":"AAAAAAAA"}]}`, `"[image, image/png, 6 bytes, left out]"`},
		{"text resource", `{"content":[{"type":"resource","resource":{"uri":"a://b","text":"inside"}}]}`, `"inside"`},
		{"binary resource", `{"content":[{"type":"resource","resource":{"uri":"a://b","blob":"AAAA"}}]}`, `"[resource a://b, unknown type, 3 bytes, left out]"`},
		{"unreadable item", `{"content":[7,{"type":"text","text":"x"}]}`, `"[content that cannot be read was left out]\nx"`},
		{"long text", `{"content":[{"type":"text","text":"` + long + `"}]}`, `"` + strings.Repeat("é", 31) + `\n[138 of 200 bytes were left out]"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := decodeResult(json.RawMessage(tc.in), 63)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, string(got.Output)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	t.Run("links", func(t *testing.T) {
		got, err := decodeResult(json.RawMessage(`{"content":[{"type":"resource_link","uri":"https://a.example/x","name":"A"},
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

func TestFrameReader_OverlongLines(t *testing.T) {
	big := strings.Repeat("y", 300<<10)
	input := "short\r\n" + `{"id":5,"result":"` + big + "\"}\n" + `{"result":{"id":1,"x":"` + big + `"},"id":"6"}` + "\n\n" + "last"
	r := newFrameReader(strings.NewReader(input), 100<<10)
	var got []string
	for {
		line, head, tail, err := r.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if line == nil {
			id, ok := cutID(head, tail)
			if !ok {
				t.Errorf("no id in %.40s … %s", head, tail[len(tail)-40:])
			}
			got = append(got, "id "+string(id))
			continue
		}
		got = append(got, string(line))
	}
	if diff := cmp.Diff([]string{"short", "id 5", `id "6"`, "", "last"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestCutID(t *testing.T) {
	for _, tc := range []struct{ head, tail, want string }{
		{`{"jsonrpc":"2.0","id":7,"result":{"a":"`, `zz"}}`, "7"},
		{`{"result":{"content":[{"id":3,"text":"`, `zz","id":4}]}}`, ""},
		{`{"result":"`, `zz","jsonrpc":"2.0","id":9}`, "9"},
		{`{"result":"`, `zz","id":9,"jsonrpc":"2.0"}`, "9"},
		{`{"id":1,"method":"x","params":"`, `zz"}`, "1"},
		{`{"method":"x","params":"`, `zz"}`, ""},
		{`[{"id":1,`, `zz`, ""},
		{``, ``, ""},
	} {
		if got, _ := cutID([]byte(tc.head), []byte(tc.tail)); string(got) != tc.want {
			t.Errorf("%s…%s: %q, want %q", tc.head, tc.tail, got, tc.want)
		}
	}
}

func TestOfferNames(t *testing.T) {
	long := strings.Repeat("long", 20)
	tools := []schemas.Tool{
		named("a", "b__c"), named("a", "x.y"), named("a", "x_y"), named("a__b", "c"),
		named("máy chủ", "tìm"), named("s", long), named("9", "nine"), named("ok", "fine-name"),
	}
	offerNames(tools)
	got := map[string]string{}
	for _, tool := range tools {
		got[tool.Server+"/"+tool.ToolName] = regexp.MustCompile(`_[0-9a-f]{8}$`).ReplaceAllString(tool.Name, "_HASH")
	}
	want := map[string]string{
		"a/b__c": "a__b__c_HASH", "a__b/c": "a__b__c_HASH", // neither has the better claim
		"a/x.y": "a__x_y_HASH", "a/x_y": "a__x_y",
		"máy chủ/tìm": "m_y_ch___t_m", "s/" + long: "s__" + long[:52] + "_HASH",
		"9/nine": "_9__nine", "ok/fine-name": "ok__fine-name",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	t.Run("a hash does not depend on the neighbours", func(t *testing.T) {
		alone := []schemas.Tool{named("s", long)}
		offerNames(alone)
		if alone[0].Name != tools[5].Name {
			t.Errorf("%s and %s", alone[0].Name, tools[5].Name)
		}
	})
	t.Run("a tool that took the hashed name", func(t *testing.T) {
		squatter := hashedName("a__x_y", "a", "x.y", 0)
		tools := []schemas.Tool{named("a", strings.TrimPrefix(squatter, "a__")), named("a", "x.y"), named("a", "x_y")}
		offerNames(tools)
		if tools[0].Name != squatter || tools[1].Name == squatter {
			t.Errorf("%s %s", tools[0].Name, tools[1].Name)
		}
	})
}

func named(server, tool string) schemas.Tool {
	return schemas.Tool{ToolInfo: schemas.ToolInfo{Server: server, ToolName: tool}}
}

func TestDecodeTool_CleansTexts(t *testing.T) {
	tool, err := decodeTool(json.RawMessage(`{"name":"a","description":"be\u200b kind\u0007\nnow\udb40\udc41 ` + strings.Repeat("ữ", 2000) + `"}`))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(tool.Description, "be kind\nnow ữ") || !strings.HasSuffix(tool.Description, cutMark) ||
		len(tool.Description) > maxDescription || !utf8.ValidString(tool.Description) {
		t.Errorf("%d bytes: %.40q", len(tool.Description), tool.Description)
	}
}

func TestRing(t *testing.T) {
	r := newRing(map[string]string{"API_KEY": "sesame-open", "MODE": "verbose-mode"})
	_, _ = r.Write(bytes.Repeat([]byte("old line\n"), 20000))
	_, _ = r.Write([]byte("using sesame-open in verbose-mode\x1b[31m\n"))
	tail := r.tail()
	if len(tail) != tailLines || tail[tailLines-1] != "using *** in verbose-mode[31m" || len(r.buf) > ringSize {
		t.Errorf("%d lines, last %q", len(tail), tail[len(tail)-1])
	}
}

// A pageConn answers tools/list with one page.
type pageConn struct {
	Conn
	page json.RawMessage
}

func (c pageConn) Request(context.Context, string, json.RawMessage) (json.RawMessage, error) {
	return c.page, nil
}

func FuzzListTools(f *testing.F) {
	f.Add([]byte(`{"tools":[{"name":"a","inputSchema":{"type":"object"}},7,{"name":"a"}]}`))
	f.Add([]byte(`{"tools":[],"nextCursor":"x"}`))
	f.Add([]byte(`{"tools":null}`))
	f.Add([]byte(`{"tools":[{"name":"\u0000","description":"\ud800"}]}`))
	f.Fuzz(func(t *testing.T, page []byte) {
		tools, _, err := listTools(t.Context(), pageConn{page: page}, "s")
		if err != nil {
			return
		}
		for _, tool := range tools {
			if validateName(tool.ToolName) != nil || tool.Server != "s" || schemas.CheckJSON(tool.InputSchema) != nil {
				t.Errorf("bad tool got through: %+v", tool)
			}
		}
	})
}

func FuzzDecodeResult(f *testing.F) {
	f.Add([]byte(`{"content":[{"type":"text","text":"{\"a\":1}"}],"isError":true}`))
	f.Add([]byte(`{"structuredContent":{"a":1e400}}`))
	f.Add([]byte("{\"content\":\"\xff\"}"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		result, err := decodeResult(raw, 100)
		if err == nil && schemas.CheckJSON(result.Output) != nil {
			t.Errorf("output %q is not strict JSON", result.Output)
		}
	})
}

func FuzzOfferNames(f *testing.F) {
	f.Add("a", "b__c", "a__b", "c")
	f.Add("", "", "é", "\xff")
	f.Add("1", "x.y", "1", "x_y")
	form := regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]{0,63}$`)
	f.Fuzz(func(t *testing.T, s1, t1, s2, t2 string) {
		if s1 == s2 && t1 == t2 {
			return
		}
		c := newCatalogue([]schemas.Tool{named(s1, t1), named(s2, t2)})
		for _, tool := range c.Tools() {
			if !form.MatchString(tool.Name) {
				t.Errorf("name %q", tool.Name)
			}
			if found, ok := c.Lookup(tool.Name); !ok || found.Server != tool.Server || found.ToolName != tool.ToolName {
				t.Errorf("%q does not lead back", tool.Name)
			}
		}
	})
}
