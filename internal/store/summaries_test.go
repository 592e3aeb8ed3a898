package store_test

import (
	"fmt"
	"testing"
	"time"

	"molar/internal/store"
	"molar/schemas"
)

// BenchmarkSummaryOfTurn does what a worker asks for after a turn: a claim, the title of a new
// conversation, the summary, and a claim that finds nothing. A conversation has ten turns.
func BenchmarkSummaryOfTurn(b *testing.B) {
	stores(b, func(b *testing.B, db *store.DB, _ string) {
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			b.StopTimer()
			if err := oneTurn(b.Context(), db, fmt.Sprint("c", i/10), fmt.Sprint("t", i), false); err != nil {
				b.Fatal(err)
			}
			b.StartTimer()
			summariseOne(b, db)
		}
	})
}

func summariseOne(b *testing.B, db *store.DB) {
	b.Helper()
	claim := func() []schemas.SummaryWork {
		claims, err := db.ClaimSummaries(b.Context(), 1, 0, true, time.Minute)
		if err != nil {
			b.Fatal(err)
		}
		return claims
	}
	claims := claim()
	if len(claims) != 1 {
		b.Fatalf("%d claims", len(claims))
	}
	c := claims[0]
	if c.Untitled {
		if err := db.SuggestTitle(b.Context(), c.Owner, c.ConversationID, "A title"); err != nil {
			b.Fatal(err)
		}
	}
	p := schemas.Piece{Seq: c.Messages[len(c.Messages)-1].Seq, Text: "They asked a question, and it was answered."}
	if err := db.AddPiece(b.Context(), c.Owner, c.ConversationID, p); err != nil {
		b.Fatal(err)
	}
	if claims := claim(); len(claims) != 0 {
		b.Fatalf("%d claims after the summary", len(claims))
	}
}
