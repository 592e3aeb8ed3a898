package session_test

import (
	"bufio"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"molar/internal/session"
	"molar/schemas"
)

func TestQuestioner(t *testing.T) {
	schema := json.RawMessage(`{"type":"object","required":["hour","day"],"properties":{
		"day":{"type":"string","enum":["Monday","Friday"],"title":"Which day"},
		"hour":{"type":"integer","description":"from 8 to 17"},
		"note":{"type":"string"},
		"sure":{"type":"boolean","default":true},
		"price":{"type":"number"}}}`)
	pets := json.RawMessage(`{"type":"object","properties":{
		"fish":{"type":"array","items":{"anyOf":[{"const":"f1","title":"Tuna"},{"const":"f2"}]}},
		"hero":{"type":"string","oneOf":[{"const":"h1","title":"One"},{"const":"h2"}]}}}`)
	for _, tc := range []struct {
		name, typed string
		asked       schemas.Question
		want        string
		shown       string
	}{
		{"declined", "n\n", schemas.Question{Schema: schema}, `decline null`, "bank asks: When?"},
		{"nothing typed", "\n", schemas.Question{Schema: schema}, `decline null`, "answer it? [y/N] (Enter declines)"},
		{
			"filled in", "y\nFriday\n9\n\n1.5\nn\n",
			schemas.Question{Schema: schema},
			`accept {"day":"Friday","hour":9,"price":1.5,"sure":false}`, "Which day, one of Monday, Friday:",
		},
		{
			"what does not fit is asked again", "yes\nSunday\nMonday\nnine\n\n10\nmine\n\n\n",
			schemas.Question{Schema: schema},
			`accept {"day":"Monday","hour":10,"note":"mine"}`, "this does not fit",
		},
		{
			"choices by their values", "y\nf1, f3\nf1, f2\nOne\nh2\n",
			schemas.Question{Schema: pets},
			`accept {"fish":["f1","f2"],"hero":"h2"}`, "one of h1, h2:",
		},
		{"an address", "y\n", schemas.Question{URL: "https://bank.example/x"}, `accept null`, "https://bank.example/x"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var out strings.Builder
			q := session.New(bufio.NewReader(strings.NewReader(tc.typed)), &out)
			tc.asked.Server, tc.asked.Message = "bank", "When?"
			got, err := q.Ask(t.Context(), tc.asked)
			if err != nil {
				t.Fatal(err)
			}
			raw, err := json.Marshal(got.Content)
			if diff := cmp.Diff(tc.want, got.Action+" "+string(raw)); diff != "" || err != nil {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
			if !strings.Contains(out.String(), tc.shown) {
				t.Errorf("shown:\n%s", out.String())
			}
		})
	}
	t.Run("the terminal closes", func(t *testing.T) {
		q := session.New(bufio.NewReader(strings.NewReader("y\n")), &strings.Builder{})
		if got, err := q.Ask(t.Context(), schemas.Question{Schema: schema}); err == nil {
			t.Errorf("%+v", got)
		}
	})
}
