package store_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"molar/internal/store"
	"molar/schemas"
)

// An export says of each message where its texts come from: a question's with its own, an answer's with
// all that its turn had read.
func TestDB_ExportOrigins(t *testing.T) {
	db := openAt(t, time.Now)
	for _, turn := range []store.Turn{
		{TurnID: "t1", User: "one", Answer: "1"},
		{TurnID: "t2", User: "two", Answer: "2", Calls: json.RawMessage(`[{"traced":true,"read":["file a.txt","mail"],"question":["pasted text"]}]`)},
		{TurnID: "t3", User: "three", Answer: "3", Calls: json.RawMessage(`[{"traced":true,"read":["mail"]}]`)},
	} {
		start, err := db.BeginTurn(t.Context(), store.TurnRequest{ConversationID: "c", TTL: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		turn.Lease = start.Lease
		if _, err := db.SaveTurn(t.Context(), turn); err != nil {
			t.Fatal(err)
		}
	}
	got := map[string][]schemas.Origin{}
	for c, err := range db.Export(t.Context(), "", "c") {
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range c.Messages {
			got[m.Content] = m.Origins
		}
	}
	want := map[string][]schemas.Origin{
		"one": nil, "1": nil, "two": {schemas.FromPaste}, "2": {"file a.txt", "mail"}, "three": nil, "3": {"mail"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
