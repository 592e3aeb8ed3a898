package tape_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"molar/eval/tape"
)

const head = `{"type":"header","header":{"v":1,"tape_id":"t","host":"h","provider":"offline"}}` + "\n"

const begun = `{"type":"model_request","seq":1,"turn":1,"pass":"tool","body":{}}` + "\n"

const exchange = begun + `{"type":"model_end","seq":1}` + "\n"

func TestRead(t *testing.T) {
	for _, test := range []struct {
		name, text, want string
		records          int
	}{
		{"whole", head + exchange, "", 3},
		{"without a last line end", strings.TrimSuffix(head+exchange, "\n"), "", 3},
		{"empty lines", head + "\n\n" + exchange, "", 3},
		{"torn", head + exchange + `{"type":"us`, "t:4: the last line is torn: 11 bytes are left out", 3},
		{"torn header", head[:20], "t:1: no record", 0},
		{"empty", "", "t:1: the tape is empty", 0},
		{"no header", exchange, "t:1: the first line is not a header", 0},
		{"two headers", head + head, "t:2: a second header", 1},
		{"newer", strings.Replace(head, `"v":1`, `"v":4`, 1), "t:1: the tape has version 4", 0},
		{"no version", strings.Replace(head, `"v":1`, `"v":0`, 1), "t:1: the header has no version", 0},
		{"broken line", head + "{\n" + exchange, "t:2: no record", 1},
		{"unknown key", head + `{"type":"user","colour":"red"}` + "\n", `unknown field "colour"`, 1},
		{"unknown type", head + `{"type":"poem"}` + "\n", `unknown type of record "poem"`, 1},
		{"begins twice", head + exchange + exchange, "t:4: exchange 1 begins twice", 3},
		{"chunk of nothing", head + `{"type":"model_chunk","seq":9}` + "\n", "t:2: model_chunk of exchange 9", 1},
		{"ends twice", head + exchange + `{"type":"model_end","seq":1}` + "\n", "t:4: model_end of exchange 1, which has ended", 3},
		{"chunk lost", head + begun + `{"type":"model_chunk","seq":1,"n":2,"raw":"b"}` + "\n", "t:3: chunk 2 of exchange 1 stands where chunk 1 should", 2},
		{"last chunk lost", head + begun + `{"type":"model_chunk","seq":1,"n":1,"raw":"a"}` + "\n" + `{"type":"model_end","seq":1,"n":2}` + "\n", "t:4: exchange 1 has 1 chunks, and ends after 2", 3},
		{"turn begins twice", head + strings.Repeat(`{"type":"user","turn":1}`+"\n", 2), "t:3: turn 1 begins twice", 2},
		{"turn answered twice", head + strings.Repeat(`{"type":"answer","turn":1}`+"\n", 2), "t:3: turn 1 is answered twice", 2},
		{"mark of an editor", "\ufeff" + head + exchange, "", 3},
		{"two objects", head + `{"type":"user"}{}` + "\n", "data after the object", 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			read, err := tape.Read("t", []byte(test.text))
			n, got := len(read.Records), ""
			if read.Header.V > 0 {
				n++
			}
			if err != nil {
				got = err.Error()
			}
			if (read.Torn != nil) != (test.name == "torn") {
				t.Errorf("torn is %v", read.Torn)
			}
			if read.Torn != nil {
				got = read.Torn.Error()
			}
			if n != test.records || !strings.Contains(got, test.want) || got != "" && test.want == "" {
				t.Errorf("%d records and %q, want %d and %q", n, got, test.records, test.want)
			}
		})
	}
}

func FuzzRead(f *testing.F) {
	f.Add(head + exchange)
	f.Add(head + `{"type":"mcp","server":"s","dir":"c2s","frame":{"id":1,"method":"tools/call"}}` + "\n")
	f.Add(head + `{"type":"user","turn":1,"text":"x"}` + "\n" + `{"type":"answer","turn":1,"done":{}}`)
	f.Add(head + `{"type":"answer","turn":1}` + "\n" + `{"type":"judge","turn":1,"judge":{"kind":"judge","rubric":"r","question":"q","answer":"a","provider":"p","model":"m","verdict":"pass","reason":"x","sha":"y"}}`)
	f.Fuzz(func(t *testing.T, text string) {
		read, err := tape.Read("t", []byte(text))
		if err != nil {
			return
		}
		tape.NewPlayer(tape.PlayerConfig{Tape: read}).Finish()
	})
}

func TestRedactor(t *testing.T) {
	// The secrets are concatenated here, so that no secret scanner finds them in this file.
	google, openai := "AI"+"za"+strings.Repeat("x", 35), "sk"+"-proj-"+strings.Repeat("A1", 12)
	r := tape.NewRedactor("hunter2hunter2")
	for _, test := range []struct{ text, secret, rule string }{
		{"key " + google + ".", google, "google_key"},
		{`{"k":"` + openai + `"}`, openai, "openai_key"},
		{"Authorization: Bearer " + strings.Repeat("z", 20), strings.Repeat("z", 20), "bearer"},
		{"https://x/y?key=abcdefgh1234&alt=sse", "abcdefgh1234", "query_key"},
		{"postgres://me:s3cr3t@host/db", "s3cr3t", "url_password"},
		{"it is hunter2hunter2!", "hunter2hunter2", "configured"},
	} {
		got := r.Text(test.text)
		if strings.Contains(got, test.secret) || !strings.Contains(got, "[REDACTED:"+test.rule+":") {
			t.Errorf("%q became %q", test.text, got)
		}
		if got != r.Text(test.text) || got != r.Text(got) {
			t.Errorf("%q is not stable", got)
		}
	}
	for _, harmless := range []string{"Set GEMINI_API_KEY", "a bearer of news", "https://example.com/a?b=c", "task-based-learning-for-everyone"} {
		if got := r.Text(harmless); got != harmless {
			t.Errorf("%q became %q", harmless, got)
		}
	}
}

// TestWriter_repeated: what requests repeat is written once, and each is read back whole.
func TestWriter_repeated(t *testing.T) {
	tools := `[{"name":"f","description":"` + strings.Repeat("x", 200) + `"}]`
	system := `{"role":"system","content":"` + strings.Repeat("y", 200) + `"}`
	var b bytes.Buffer
	w := tape.NewWriter(&b, tape.NewRedactor(), tape.Header{TapeID: "t"})
	bodies := []string{`{"model":"m","tools":` + tools + `}`, `{"model":"n","tools":` + tools + `}`, `{"model":"m","tools":[{"name":"g"}]}`, `{"model":"m"}`, `{"messages":[` + system + `]}`, `{"messages":[` + system + `,{"role":"user"}],"tools":[]}`, `{"messages":[` + system + `,1],"tools":[{"name":"g"}]}`, `{ "tools" : ` + tools + `}`}
	for i, body := range bodies {
		w.Write(&tape.Record{Type: tape.TypeModelRequest, Seq: i + 1, Turn: 1, Pass: "tool", Body: json.RawMessage(body)})
	}
	for _, repeated := range []string{strings.Repeat("x", 200), strings.Repeat("y", 200)} {
		if n := strings.Count(b.String(), repeated); n > 2 || w.Err() != nil {
			t.Errorf("%s stands there %d times (%v):\n%s", repeated, n, w.Err(), &b)
		}
	}
	read, err := tape.Read("t", b.Bytes())
	if err != nil || len(read.Records) != len(bodies) {
		t.Fatalf("%d records, %v", len(read.Records), err)
	}
	for i, body := range bodies {
		if got := string(read.Records[i].Body); got != strings.ReplaceAll(body, " ", "") {
			t.Errorf("request %d is %s, want %s", i+1, got, body)
		}
	}
	for _, broken := range []string{`"as_in_exchange":9`, `"as_in_exchange":4`, `"as_in_exchange":5,"items":2`, `"as_in_exchange":5,"items":-1`} {
		for _, whole := range []string{`"as_in_exchange":1`, `"as_in_exchange":5,"items":1`} {
			if text := strings.Replace(b.String(), whole, broken, 1); text == b.String() {
				t.Errorf("%s stands nowhere: %s", whole, text)
			} else if _, err := tape.Read("t", []byte(text)); err == nil {
				t.Errorf("%s for %s was read", broken, whole)
			}
		}
	}
}
