package store

import (
	"context"
	"database/sql"
	"errors"

	"molar/internal/store/database"
	"molar/schemas"
)

// growByMessage creates the conversation, or adds a message to its count.
const growByMessage = `INSERT INTO conversations (owner, id, title, messages, last_seq, head, created_at, updated_at)
	VALUES ($1, $2, $3, 1, 1, 1, $4, $4)
	ON CONFLICT (id, owner) DO UPDATE SET
		title = CASE WHEN conversations.title = '' THEN excluded.title ELSE conversations.title END,
		messages = conversations.messages + 1, last_seq = conversations.last_seq + 1, updated_at = excluded.updated_at,
		head_before = conversations.head, head = conversations.last_seq + 1
	RETURNING num, last_seq, head_before`

// AddMessage appends a message outside a turn to the newest branch, and creates the conversation when
// it is missing.
func (d *DB) AddMessage(ctx context.Context, owner, id string, m Message) error {
	return d.db.Write(ctx, "add message", func(tx *sql.Tx) error {
		c, err := findIn(ctx, tx, owner, id)
		if errors.Is(err, ErrNotFound) {
			c.owner, err = owner, nil
		}
		if err != nil {
			return err
		}
		now := database.Millis(d.db.Now())
		title := ""
		if m.Role == schemas.RoleUser {
			title = startOf(m.Content)
		}
		var num, seq, parent int64
		err = tx.QueryRowContext(ctx, growByMessage, c.owner, id, d.db.SQL.Text(title), now).Scan(&num, &seq, &parent)
		if err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, `INSERT INTO messages (conversation, seq, role, content, timestamp, parent) VALUES ($1, $2, $3, $4, $5, $6)`,
			num, seq, string(m.Role), d.db.SQL.Text(m.Content), now, parent)
		return err
	})
}

// Recent returns role and content of the newest messages of the newest branch, at most last of
// them, oldest first, without an unfinished answer. An unknown conversation has none.
func (d *DB) Recent(ctx context.Context, owner, id string, last int) ([]Message, error) {
	const op = "read messages"
	if err := ctx.Err(); err != nil {
		return nil, d.db.Fault(op, err)
	}
	rows, err := d.stmts.reading[recentMessages].QueryContext(d.db.Short(ctx), id, owner, int64(last))
	if err != nil {
		return nil, d.db.Fault(op, err)
	}
	messages, err := database.ReadAll(rows, func(row *sql.Rows) (m Message, err error) {
		err = row.Scan(&m.Role, &m.Content)
		return m, err
	})
	if err != nil || len(messages) > 0 {
		return messages, d.db.Fault(op, err)
	}
	return d.recentOfBranch(ctx, owner, id, last)
}

// recentOfBranch is Recent for conversations with branches.
func (d *DB) recentOfBranch(ctx context.Context, owner, id string, last int) ([]Message, error) {
	messages, _, err := d.Messages(ctx, owner, id, MessageRange{Last: last})
	recent := make([]Message, 0, len(messages))
	for _, m := range messages {
		if m.Status != schemas.StatusRunning {
			recent = append(recent, Message{Role: m.Role, Content: m.Content})
		}
	}
	return recent, err
}
