package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"molar/internal/store/database"
	"molar/schemas"
)

// Summary returns the summary of the conversation; an unknown conversation has
// an empty one.
func (d *DB) Summary(ctx context.Context, owner, id string) (Summary, error) {
	var s Summary
	var at int64
	err := d.db.Read.QueryRowContext(ctx, `SELECT summary, summary_updated_at, covers FROM conversations
		WHERE id = $1 AND ($2 = '' OR owner = $2) ORDER BY owner LIMIT 1`, id, owner).Scan(&s.Text, &at, &s.Covers)
	if errors.Is(err, sql.ErrNoRows) {
		return Summary{}, nil
	}
	s.UpdatedAt = database.TimeAt(at)
	return s, d.db.Fault("read summary", err)
}

// SetSummary replaces the summary of the newest branch and ends a claim on it. covers is the
// last message that the text covers. It never goes back, so a slow worker cannot undo a later
// text: that is [ErrConflict]. Without covers a text covers all existing messages, and an
// empty text none.
func (d *DB) SetSummary(ctx context.Context, owner, id, text string, covers *int64) error {
	return d.db.Write(ctx, "set summary", func(tx *sql.Tx) error {
		c, err := d.holdIn(ctx, tx, owner, id)
		if err != nil {
			return err
		}
		reach := c.head
		switch {
		case covers == nil && text == "":
			reach = 0
		case covers == nil:
		case *covers > c.lastSeq:
			return fmt.Errorf("%w: covers is %d, the last message is %d", ErrInvalid, *covers, c.lastSeq)
		default:
			reach = *covers
		}
		if err := d.replacePieces(ctx, tx, c, d.db.SQL.Text(text), reach, covers != nil); err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, `UPDATE conversations SET summary = $1, summary_updated_at = $2, covers = $3, claimed_until = 0, later = 0,
			behind = (SELECT count(*) FROM turns t JOIN messages m ON m.conversation = t.conversation AND m.seq = t.answer_seq
				WHERE t.conversation = num AND t.status = '' AND m.piece IS NULL)
			WHERE num = $4`, d.db.SQL.Text(text), database.Millis(d.db.Now()), reach, c.num)
		return err
	})
}

// replacePieces makes a text cover the newest branch up to a message. further means that it
// must reach further than the summary did, and not over what was cleared.
func (d *DB) replacePieces(ctx context.Context, tx *sql.Tx, c conversation, text string, reach int64, further bool) error {
	const onPath = ` conversation = $1 AND seq IN (WITH RECURSIVE path(seq, parent) AS (
		SELECT seq, parent FROM messages WHERE conversation = $1 AND seq = $2
		UNION ALL
		SELECT m.seq, m.parent FROM path JOIN messages m ON m.conversation = $1 AND m.seq = path.parent) SELECT seq FROM path)`
	if further {
		var there int
		err := tx.QueryRowContext(ctx, `SELECT count(*) FROM messages WHERE seq = $3 AND`+onPath, c.num, c.head, reach).Scan(&there)
		if err != nil {
			return err
		}
		if there == 0 || reach <= c.covers {
			return fmt.Errorf("%w: message %d is covered already, was cleared, or is on another branch", ErrConflict, reach)
		}
	}
	_, err := tx.ExecContext(ctx, `UPDATE messages SET condensed = NULL,
		piece = CASE WHEN role = 'assistant' AND seq <= $3 THEN '' ELSE NULL END
		WHERE (piece IS NOT NULL OR condensed IS NOT NULL OR role = 'assistant' AND seq <= $3) AND`+onPath, c.num, c.head, reach)
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, `UPDATE messages SET condensed = $3 WHERE conversation = $1 AND seq = $2`, c.num, reach, text)
	return err
}

// AddPiece stores the summary of one exchange, on any branch, and ends a claim on the
// conversation. An exchange that has one already, or is deleted, is [ErrConflict].
func (d *DB) AddPiece(ctx context.Context, owner, id string, p schemas.Piece) error {
	p.Text, p.Condensed = d.db.SQL.Text(p.Text), d.db.SQL.Text(p.Condensed)
	return d.apply(ctx, "add summary", true, func(ctx context.Context, tx turnTx) error {
		c, err := found(tx.stmt(ctx, findConversation+d.db.SQL.ForUpdate).QueryRowContext(ctx, id, owner), id)
		if err != nil {
			return err
		}
		condensed := p.Condensed
		if condensed == "" && c.covers == 0 && c.summary != "" {
			// A text set before there was a message that it could belong to.
			condensed = strings.Trim(c.summary+"\n\n"+p.Text, "\n")
		}
		var turnID string
		err = tx.stmt(ctx, addPiece).QueryRowContext(ctx, c.num, p.Seq, p.Text, condensed).Scan(&turnID)
		if errors.Is(err, sql.ErrNoRows) {
			return fmt.Errorf("%w: message %d is not an answer whose summary is pending", ErrConflict, p.Seq)
		}
		if err != nil {
			return err
		}
		done := 0
		if turnID != "" {
			done = 1
		}
		s, err := renderedSummary(ctx, tx, c.num, c.head)
		if err != nil {
			return err
		}
		_, err = tx.stmt(ctx, putSummary).ExecContext(ctx, c.num, s.Text, s.Covers, database.Millis(d.db.Now()), done)
		return err
	})
}

// ClaimSummaries returns at most limit conversations with complete answers whose summary is due,
// and reserves them for the caller for ttl. least skips those with fewer
// unsummarised messages. With titles it also returns those without a title whose summaries can
// wait. A claim without a summary ends by itself; the conversation then comes after the unclaimed
// ones, as its next claim may fail too. It also interrupts the turns of dead processes.
func (d *DB) ClaimSummaries(ctx context.Context, limit, least int, titles bool, ttl time.Duration) ([]schemas.SummaryWork, error) {
	const op = "claim summaries"
	items := []schemas.SummaryWork{}
	asked := 0 // for titles
	if titles {
		asked = 1
	}
	var orphaned, due bool // mostly neither is the case, and a read blocks no writer
	err := d.stmts.reading[claimable].QueryRowContext(ctx, d.db.Clock(), turns(least), database.Millis(d.db.Now()), asked).Scan(&orphaned, &due)
	if err != nil || !orphaned && !due {
		return items, d.db.Fault(op, err)
	}
	type claim struct {
		num int64
		schemas.SummaryWork
	}
	var claims []claim
	err = d.apply(ctx, op, false, func(ctx context.Context, tx turnTx) (err error) {
		if orphaned {
			if err := d.reap(ctx, tx.Tx); err != nil {
				return err
			}
		}
		now := d.db.Now()
		claims, err = database.List(ctx, tx, func(row *sql.Rows) (c claim, err error) {
			err = row.Scan(&c.num, &c.Owner, &c.ConversationID, &c.Language, &c.Untitled, &c.TitleOnly)
			return c, err
		}, claimWork, database.Millis(now.Add(ttl)), database.Millis(now), limit, turns(least), asked)
		return err
	})
	if err != nil {
		return nil, err
	}
	for _, c := range claims {
		if err := d.readWork(ctx, c.num, &c.SummaryWork); err != nil {
			return nil, d.db.Fault(op, err)
		}
		items = append(items, c.SummaryWork)
	}
	return items, nil
}

// SummariesBehind counts the turns whose summary is not written yet.
func (d *DB) SummariesBehind(ctx context.Context) (n int64, err error) {
	err = d.db.Read.QueryRowContext(ctx, `SELECT coalesce(sum(behind), 0) FROM conversations WHERE behind > 0`).Scan(&n)
	return n, d.db.Fault("count summaries", err)
}

// turns returns how many turns so many messages are.
func turns(messages int) int { return (messages + 1) / 2 }

// readWork reads the branch of the newest answer without a summary, from where its summary
// ends, without interrupted turns.
func (d *DB) readWork(ctx context.Context, num int64, w *schemas.SummaryWork) error {
	b := branch{num: num}
	err := d.stmts.reading[pendingAnswer].QueryRowContext(ctx, num).Scan(&b.head)
	w.Messages = []schemas.StoredMessage{}
	if errors.Is(err, sql.ErrNoRows) {
		return nil // done meanwhile
	}
	if err != nil {
		return err
	}
	s, err := renderedSummary(ctx, d.stmts.reading, num, b.head)
	if err != nil {
		return err
	}
	w.Summary, w.Covers = s.Text, s.Covers
	messages, err := d.messagesOf(ctx, b, s.Covers)
	hideParents(messages)
	cut := map[string]bool{}
	for _, m := range messages {
		if m.Status != "" {
			cut[m.TurnID] = true
		}
	}
	w.Messages = slices.DeleteFunc(messages, func(m schemas.StoredMessage) bool { return cut[m.TurnID] })
	return err
}
