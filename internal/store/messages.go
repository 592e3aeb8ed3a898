package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"math"

	"molar/schemas"
)

// titleRunes is how much of the first question becomes the title.
const titleRunes = 60

// growByMessage makes the conversation, or adds a message to its count.
const growByMessage = `INSERT INTO conversations (owner, id, title, messages, last_seq, created_at, updated_at)
	VALUES ($1, $2, $3, 1, 1, $4, $4)
	ON CONFLICT (id, owner) DO UPDATE SET
		title = CASE WHEN conversations.title = '' THEN excluded.title ELSE conversations.title END,
		messages = conversations.messages + 1, last_seq = conversations.last_seq + 1, updated_at = excluded.updated_at
	RETURNING num, last_seq`

// AddMessage appends a message outside a turn and creates the conversation when
// it is missing.
func (d *DB) AddMessage(ctx context.Context, owner, id string, m Message) error {
	return d.write(ctx, "add message", func(tx *sql.Tx) error {
		c, err := findIn(ctx, tx, owner, id)
		if errors.Is(err, ErrNotFound) {
			c.owner, err = owner, nil
		}
		if err != nil {
			return err
		}
		now := millis(d.now())
		title := ""
		if m.Role == schemas.RoleUser {
			title = titleOf(m.Content)
		}
		var num, seq int64
		err = tx.QueryRowContext(ctx, growByMessage, c.owner, id, d.sql.text(title), now).Scan(&num, &seq)
		if err != nil {
			return err
		}
		_, err = tx.StmtContext(ctx, d.stmts.insertMessage).ExecContext(ctx,
			num, seq, string(m.Role), d.sql.text(m.Content), now, "", "", "", "")
		return err
	})
}

// titleOf is the start of a question, at most titleRunes characters.
func titleOf(text string) string {
	count := 0
	for i := range text {
		if count == titleRunes {
			return text[:i]
		}
		count++
	}
	return text
}

// Messages returns messages of the conversation, oldest first, and the number of
// all its messages. An unknown conversation has none.
func (d *DB) Messages(ctx context.Context, owner, id string, r MessageRange) ([]schemas.StoredMessage, int, error) {
	const op = "read messages"
	c, err := d.find(ctx, owner, id)
	if errors.Is(err, sql.ErrNoRows) {
		return []schemas.StoredMessage{}, 0, nil
	}
	if err != nil {
		return nil, 0, d.fault(op, err)
	}
	after := int64(0)
	if r.Uncovered {
		after = c.covers
	}
	if r.Last > 0 {
		// The seqs of a conversation have no gaps. (A LIMIT that is a parameter would
		// make SQLite plan the statement anew each time.)
		after = max(after, c.lastSeq-int64(r.Last)-int64(r.SkipLast))
	}
	messages, err := d.messagesIn(ctx, c.num, after, c.lastSeq-int64(r.SkipLast))
	if err != nil {
		return nil, 0, d.fault(op, err)
	}
	return messages, c.messages, nil
}

// Recent returns role and content of the newest messages of the conversation, at most
// last of them, oldest first. An unknown conversation has none.
func (d *DB) Recent(ctx context.Context, owner, id string, last int) ([]Message, error) {
	const op = "read messages"
	if err := ctx.Err(); err != nil {
		return nil, d.fault(op, err)
	}
	rows, err := d.stmts.recentMessages.QueryContext(d.short(ctx), id, owner, int64(last))
	if err != nil {
		return nil, d.fault(op, err)
	}
	defer rows.Close()
	messages := make([]Message, 0, min(last, 16))
	for rows.Next() {
		var m Message
		if err := rows.Scan(&m.Role, &m.Content); err != nil {
			return nil, d.fault(op, err)
		}
		messages = append(messages, m)
	}
	return messages, d.fault(op, rows.Err())
}

// MessagesAfter returns the messages of the conversation whose seq is above after, at
// most limit of them, oldest first. next is the seq to go on after, 0 at the end. A page
// may hold fewer messages than limit before the end. An unknown conversation has none.
func (d *DB) MessagesAfter(ctx context.Context, owner, id string, after int64, limit int) (page []schemas.StoredMessage, next int64, err error) {
	const op = "read messages"
	c, err := d.find(ctx, owner, id)
	if errors.Is(err, sql.ErrNoRows) {
		return []schemas.StoredMessage{}, 0, nil
	}
	if err != nil {
		return nil, 0, d.fault(op, err)
	}
	after = max(after, c.lastSeq-int64(c.messages)) // what a clear took needs no pages
	upTo := after + int64(limit)
	if page, err = d.messagesIn(ctx, c.num, after, upTo); err != nil {
		return nil, 0, d.fault(op, err)
	}
	if upTo < c.lastSeq {
		next = upTo
	}
	return page, next, nil
}

// messagesAfter reads the messages above a seq, oldest first.
func (d *DB) messagesAfter(ctx context.Context, num, seq int64) ([]schemas.StoredMessage, error) {
	return d.messagesIn(ctx, num, seq, math.MaxInt64)
}

// messagesIn reads the messages whose seq is in (after, upTo], oldest first.
func (d *DB) messagesIn(ctx context.Context, num, after, upTo int64) ([]schemas.StoredMessage, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	rows, err := d.stmts.messagesIn.QueryContext(d.short(ctx), num, after, upTo)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	messages := []schemas.StoredMessage{}
	for rows.Next() {
		m, err := scanMessage(rows)
		if err != nil {
			return nil, err
		}
		messages = append(messages, m)
	}
	return messages, rows.Err()
}

func scanMessage(rows *sql.Rows) (m schemas.StoredMessage, err error) {
	var at int64
	var sources, calls string
	if err := rows.Scan(&m.Seq, &m.Role, &m.Content, &at, &m.TurnID, &m.Status, &sources, &calls); err != nil {
		return m, err
	}
	m.Timestamp = timeAt(at)
	if calls != "" {
		m.Calls = json.RawMessage(calls)
	}
	if sources != "" {
		err = json.Unmarshal([]byte(sources), &m.Sources)
	}
	return m, err
}
