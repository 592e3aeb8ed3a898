package toolhandler_test

import (
	"testing"

	"molar/toolhandler"
)

// A permission beyond one call does not apply to a call with another destination.
func TestApproval_Subject(t *testing.T) {
	for args, want := range map[string]string{
		`{"to":["B@b.example","a@b.example"],"text":"hi"}`:           "mail__send to a@b.example, b@b.example",
		`{"url":"https://API.example/x?q=1","body":"https is fine"}`: "mail__send to api.example",
		`{"path":"/tmp/a.txt","content":"x"}`:                        "mail__send to /tmp/a.txt",
		`{"text":"write to c@d.example"}`:                            "mail__send to c@d.example",
		`{"text":"hi"}`:                                              "mail__send, whatever its arguments",
		`not json`:                                                   "mail__send, whatever its arguments",
		`{"channel":"design","text":"late"}`:                         "mail__send to design",
		`{"account":12345,"amount":10}`:                              "mail__send to 12345",
		`{"message":{"toAddress":"Bob","text":"hi"}}`:                "mail__send to Bob",
		"{\"to\":\"x@\u202emoc.b\"}":                                 `mail__send to x@\u202emoc.b`,
		`{"channel_ids":["C1","C2"]}`:                                "mail__send to C1, C2",
	} {
		a := toolhandler.Approval{Call: call("1", "mail__send", args), Tool: tool("mail", "send", "")}
		if got := a.Subject(); got != want {
			t.Errorf("%s: %q, want %q", args, got, want)
		}
	}
}
