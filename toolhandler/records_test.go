package toolhandler_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"molar/schemas"
	"molar/toolhandler"
)

// A question says what an id stands for, as far as the call's own server has said it: the other texts
// of the one record with this id.
func TestReason_Records(t *testing.T) {
	const list = `[{"id":"v3","at":"2026-11-24T15:00","with":"Linda","seats":2},{"id":"v4","with":"Tom"},{"id":"v5","with":"Ann"},{"id":"v5","with":"Bob"}]`
	many := "[" + strings.Repeat(`{"id":"x","with":"Ann"},`, 2000) + list[1:]
	for _, tc := range []struct {
		name, origin, text, arguments string
		want                          map[string][]string
	}{
		{"by its id", "booking", list, `{"visit":"v3"}`, map[string][]string{"v3": {"2026-11-24T15:00", "Linda"}}},
		{"a number", "booking", `{"visits":[{"number":7,"with":"Tom"}]}`, `{"visit":7}`, map[string][]string{"7": {"Tom"}}},
		{"several", "booking", list, `{"visit":"v3","other":"v4"}`, map[string][]string{"v3": {"2026-11-24T15:00", "Linda"}, "v4": {"Tom"}}},
		{"more than a question shows", "booking", many, `{"visit":[` + strings.TrimSuffix(strings.Repeat(`"none",`, 400), ",") + `],"other":"v3"}`, map[string][]string{"v3": {"2026-11-24T15:00", "Linda"}}},
		{"two records", "booking", list, `{"visit":"v5"}`, nil},
		{"unknown", "booking", list, `{"visit":"v9"}`, nil},
		{"no id of a record", "booking", list, `{"visit":"Linda"}`, nil},
		{"another server's", "mail", list, `{"visit":"v3"}`, nil},
		{"a text that contains JSON", "booking", `{"body":"[{\"id\":\"v3\",\"with\":\"Mallory\"}]"}`, `{"visit":"v3"}`, nil},
		{"no JSON", "booking", "v3 is with Linda", `{"visit":"v3"}`, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var asked toolhandler.Approval
			turn := newHandler(t, echo).Begin(toolhandler.TurnConfig{
				Tools: []schemas.Tool{tool("booking", "cancel_visit", `{"type":"object","properties":{"visit":{},"other":{}}}`)},
				Flow:  toolhandler.Flow{Readings: []toolhandler.Reading{{Origin: schemas.Origin(tc.origin), Text: tc.text}}},
				Approver: approverFunc(func(_ context.Context, a toolhandler.Approval) (toolhandler.Decision, error) {
					asked = a
					return toolhandler.Decision{}, errors.New("left")
				}),
			})
			collect(t.Context(), turn, call("1", "booking__cancel_visit", tc.arguments))
			got := asked.Reason.Records
			if len(got) == 0 {
				got = nil
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
			if asked.Call.ID != "1" {
				t.Error("nobody was asked")
			}
		})
	}
}
