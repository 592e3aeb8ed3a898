package tape

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What a server listed before it began in another way is no longer on the tapes that follow.
func TestKeeper_ServerBeginsInAnotherWay(t *testing.T) {
	k, err := NewKeeper(KeeperConfig{
		To: func(TurnTape) {}, ShouldKeep: func(string) bool { return true }, Route: func(string) Route { return Route{} },
	})
	if err != nil {
		t.Fatal(err)
	}
	const meta, logging = `{"_meta":{"revision":"2026-07-28"}}`, `{"_meta":{"revision":"2026-07-28","logLevel":"info"}}`
	for _, tc := range []struct {
		method, params, result string
	}{
		{MethodInitialize, `{"protocolVersion":"2025-11-25"}`, `1`},
		{MethodList, `{}`, `2`},
		{MethodList, `{"cursor":"a"}`, `3`},
		{MethodDiscover, meta, `4`},
		{MethodList, logging, `5`},
		{MethodDiscover, logging, `6`}, // as a ping
	} {
		k.listed("s", tc.method, json.RawMessage(tc.params), json.RawMessage(tc.result))
	}
	var results []string
	for _, l := range k.lists["s"] {
		var f rpcFrame
		if err := json.Unmarshal(l.answer.Frame, &f); err != nil {
			t.Fatal(err)
		}
		results = append(results, string(f.Result))
	}
	if diff := cmp.Diff([]string{"5", "6"}, results); diff != "" {
		t.Error(diff)
	}
}
