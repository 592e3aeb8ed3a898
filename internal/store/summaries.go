package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"molar/schemas"
)

// Summary returns the summary of the conversation; an unknown conversation has
// an empty one.
func (d *DB) Summary(ctx context.Context, owner, id string) (Summary, error) {
	var s Summary
	var at int64
	err := d.read.QueryRowContext(ctx, `SELECT summary, summary_updated_at, covers FROM conversations
		WHERE id = $1 AND ($2 = '' OR owner = $2) ORDER BY owner LIMIT 1`, id, owner).Scan(&s.Text, &at, &s.Covers)
	if errors.Is(err, sql.ErrNoRows) {
		return Summary{}, nil
	}
	s.UpdatedAt = timeAt(at)
	return s, d.fault("read summary", err)
}

// SetSummary replaces the summary and ends a claim on it. covers says up to which
// message the text reaches. It never goes back, so a slow worker cannot undo a
// later one's text: that is [ErrConflict]. Without covers a text covers all
// messages that are there, and an empty text covers none.
func (d *DB) SetSummary(ctx context.Context, owner, id, text string, covers *int64) error {
	return d.write(ctx, "set summary", func(tx *sql.Tx) error {
		c, err := d.holdIn(ctx, tx, owner, id)
		if err != nil {
			return err
		}
		reach := c.lastSeq
		switch {
		case covers == nil && text == "":
			reach = 0
		case covers == nil:
		case *covers <= c.covers && c.covers > 0:
			// Also after Clear, which covers all that was there: a summary that was being
			// written meanwhile must not bring the cleared text back.
			return fmt.Errorf("%w: message %d is covered already, and this text reaches to %d", ErrConflict, c.covers, *covers)
		case *covers > c.lastSeq:
			return fmt.Errorf("%w: covers is %d, the last message is %d", ErrInvalid, *covers, c.lastSeq)
		default:
			reach = *covers
		}
		_, err = tx.ExecContext(ctx, `UPDATE conversations SET summary = $1, summary_updated_at = $2, covers = $3,
			claimed_until = 0 WHERE num = $4`, d.sql.text(text), millis(d.now()), reach, c.num)
		return err
	})
}

// ClaimSummaries returns at most limit conversations with complete answers that
// their summary does not cover, and keeps them from other callers for ttl. A
// claim that is not followed by SetSummary ends by itself; the conversation then comes
// after those that nobody claimed yet, as its next claim may fail too.
func (d *DB) ClaimSummaries(ctx context.Context, limit int, ttl time.Duration) ([]SummaryWork, error) {
	items := []SummaryWork{}
	var conversations, upTo []int64
	err := d.transact(ctx, d.relaxed, "claim summaries", func(tx *sql.Tx) error {
		items, conversations, upTo = items[:0], nil, nil
		now := d.now()
		rows, err := tx.QueryContext(ctx, `UPDATE conversations SET claimed_until = $1 WHERE num IN (
				SELECT num FROM conversations WHERE complete_seq > covers AND claimed_until <= $2
				ORDER BY claimed_until, updated_at LIMIT $3) AND claimed_until <= $2
			RETURNING num, owner, id, summary, covers, language, complete_seq`,
			millis(now.Add(ttl)), millis(now), limit)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var w SummaryWork
			var num, complete int64
			if err := rows.Scan(&num, &w.Owner, &w.ConversationID, &w.Summary, &w.Covers, &w.Language, &complete); err != nil {
				return err
			}
			items, conversations, upTo = append(items, w), append(conversations, num), append(upTo, complete)
		}
		return rows.Err()
	})
	if err != nil {
		return nil, err
	}
	for i := range items {
		items[i].Messages, err = d.uncovered(ctx, conversations[i], items[i].Covers, upTo[i])
		if err != nil {
			return nil, d.fault("claim summaries", err)
		}
	}
	return items, nil
}

// uncovered reads the messages in (covers, upTo] without interrupted turns.
func (d *DB) uncovered(ctx context.Context, num, covers, upTo int64) ([]schemas.StoredMessage, error) {
	messages, err := d.messagesAfter(ctx, num, covers)
	if err != nil {
		return nil, err
	}
	interrupted := map[string]bool{}
	for _, m := range messages {
		if m.Status == schemas.StatusInterrupted {
			interrupted[m.TurnID] = true
		}
	}
	return slices.DeleteFunc(messages, func(m schemas.StoredMessage) bool {
		return m.Seq > upTo || interrupted[m.TurnID]
	}), nil
}
