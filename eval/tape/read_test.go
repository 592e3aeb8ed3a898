package tape_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"molar/eval/tape"
)

// A recorded stream is replayed event by event, with the names of the events and a cut at the
// same place.
func TestReadAnswer_ServesTheEventsOfAStream(t *testing.T) {
	t.Parallel()
	const one = `{"choices":[{"index":0,"delta":{"content":"a"}}]}`
	for name, tc := range map[string]struct {
		body string
		want []string
	}{
		"CRLF and a comment":   {": c\r\n\r\ndata: " + one + "\r\n\r\ndata: [DONE]\r\n\r\n", []string{"data: " + one + "\n\n", "data: [DONE]\n\n"}},
		"an event named error": {"data: " + one + "\n\nevent: error\ndata: {\ndata: }\n\n", []string{"data: " + one + "\n\n", "event: error\ndata: {\ndata: }\n\n"}},
		"a stream that is cut": {"data: " + one + "\n\ndata: {\"cho", []string{"data: " + one + "\n\n", "data: {\"cho"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			answer, stream, err := tape.ReadAnswer(tape.OpenAI, tc.body)
			if err != nil || answer.Text != "a" {
				t.Fatalf("%+v, %v", answer, err)
			}
			var got []string
			for _, chunk := range stream.Chunks {
				got = append(got, string(chunk))
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
