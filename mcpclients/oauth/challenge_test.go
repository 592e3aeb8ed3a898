package oauth_test

import (
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"molar/mcpclients/oauth"
)

func TestParseChallenge(t *testing.T) {
	for _, tt := range []struct {
		headers []string
		want    oauth.Challenge
	}{
		{nil, oauth.Challenge{}},
		{[]string{"Bearer"}, oauth.Challenge{Bearer: true}},
		{[]string{`bearer error=invalid_token, scope="a b"`}, oauth.Challenge{Bearer: true, Error: "invalid_token", Scopes: []string{"a", "b"}}},
		{
			[]string{`Bearer realm="x", error="insufficient_scope",scope=a,resource_metadata="https://a/b?c=\"d\""`},
			oauth.Challenge{Bearer: true, Error: "insufficient_scope", Scopes: []string{"a"}, Metadata: `https://a/b?c="d"`},
		},
		{[]string{`Basic realm="Bearer scope=x", Bearer scope="y"`}, oauth.Challenge{Bearer: true, Scopes: []string{"y"}}},
		{[]string{`Bearer scope="y", Basic scope="z"`}, oauth.Challenge{Bearer: true, Scopes: []string{"y"}}},
		{[]string{`Negotiate abc==`, `Bearer Scope = "y"`}, oauth.Challenge{Bearer: true, Scopes: []string{"y"}}},
		{[]string{`Bearer scope="a \"; rm b` + "\x01" + `c d"`}, oauth.Challenge{Bearer: true, Scopes: []string{"a", "rm", "d"}}},
		{[]string{`Bearer scope="open`}, oauth.Challenge{Bearer: true}},
		{[]string{`Digest scope="y"`}, oauth.Challenge{}},
	} {
		h := http.Header{}
		for _, value := range tt.headers {
			h.Add("WWW-Authenticate", value)
		}
		if diff := cmp.Diff(tt.want, oauth.ParseChallenge(h)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", tt.headers, diff)
		}
	}
}

func FuzzParseChallenge(f *testing.F) {
	for _, text := range []string{"", `Bearer a="b\`, `Bearer ,,,=`, `Bearer scope="a b", Basic x==, Bearer error=e`, "\xff\x00=", `a"b"c=d`} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, scope := range oauth.ParseChallenge(http.Header{"Www-Authenticate": {text}}).Scopes {
			if !oauth.IsScope(scope) {
				t.Errorf("%q is no scope", scope)
			}
		}
	})
}
