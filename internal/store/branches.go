package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"molar/internal/store/database"
	"molar/schemas"
)

// branch is a path from the first message of a conversation to its head.
type branch struct {
	num, head int64
	// linear means that the seqs alone determine what is on it.
	linear bool
}

// newest returns the branch that the next turn continues.
func (c conversation) newest() branch { return branch{num: c.num, head: c.head, linear: c.linear == 1} }

// stored is a message with its summaries.
type stored struct {
	schemas.StoredMessage
	piece, condensed sql.NullString
}

// envelope is approximately what JSON adds to a message, in bytes.
const envelope = 200

func weight(m schemas.StoredMessage) int { return len(m.Content) + len(m.Calls) + envelope }

// pathDown is messagesDown where there are branches. It ends with the message before a
// question that makes it so many characters ($4) long.
const pathDown = `WITH RECURSIVE path(seq, parent, role, size, enough) AS (
		SELECT seq, parent, role, CAST(length(content) + length(calls) + 200 AS BIGINT), 0 FROM messages
			WHERE conversation = $1 AND seq = $3 AND seq > $2
		UNION ALL
		SELECT m.seq, m.parent, m.role, path.size + length(m.content) + length(m.calls) + 200,
				CASE WHEN path.size >= $4 AND path.role = 'user' THEN 1 ELSE 0 END
			FROM path JOIN messages m ON m.conversation = $1 AND m.seq = path.parent AND m.seq > $2
			WHERE path.enough = 0)
	SELECT m.seq, m.role, m.content, m.timestamp, m.turn_id, m.status, m.sources, m.calls, m.parent, m.parent_turn, m.assistant,
		m.piece, m.condensed
	FROM path JOIN messages m ON m.conversation = $1 AND m.seq = path.seq ORDER BY m.seq DESC`

// unlimited is more than any branch holds.
const unlimited = 1 << 60

// walkDown passes the messages of a branch to f, the newest first, from its head to the one
// after a seq, until f has enough. about is approximately how many bytes f wants; 0 means all.
func (d *DB) walkDown(ctx context.Context, b branch, after int64, about int, f func(stored) bool) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	var rows *sql.Rows
	var err error
	if b.linear {
		rows, err = d.stmts.reading.QueryContext(d.db.Short(ctx), messagesDown, b.num, after, b.head)
	} else {
		size := int64(about)
		if size == 0 {
			size = unlimited
		}
		rows, err = d.stmts.reading.QueryContext(ctx, pathDown, b.num, after, b.head, size)
	}
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		m, err := scanMessage(rows)
		if err != nil {
			return err
		}
		if !f(m) {
			break
		}
	}
	return rows.Err()
}

func scanMessage(rows *sql.Rows) (m stored, err error) {
	var at int64
	var sources, calls string
	if err := rows.Scan(&m.Seq, &m.Role, &m.Content, &at, &m.TurnID, &m.Status, &sources, &calls,
		&m.Parent, &m.ParentTurn, &m.Assistant, &m.piece, &m.condensed); err != nil {
		return m, err
	}
	m.Timestamp = database.TimeAt(at)
	if calls != "" {
		m.Calls = json.RawMessage(calls)
	}
	if sources != "" {
		err = json.Unmarshal([]byte(sources), &m.Sources)
	}
	return m, err
}

func reversed[T any](list []T) []T {
	slices.Reverse(list)
	return list
}

// branchOf finds the requested branch. A whole tree is read like a branch, by its seqs.
func (d *DB) branchOf(ctx context.Context, c conversation, b Branch) (branch, error) {
	switch {
	case b.Tree:
		return branch{num: c.num, head: c.lastSeq, linear: true}, nil
	case b.Tip == "" || b.Tip == c.tip:
		return c.newest(), nil
	}
	at, err := d.tipOf(ctx, c.num, b.Tip)
	if err != nil {
		return branch{}, err
	}
	return branch{num: c.num, head: at.seq, linear: c.linear == 1}, nil
}

// messagesOf reads the messages of a branch above a seq, oldest first.
func (d *DB) messagesOf(ctx context.Context, b branch, after int64) ([]schemas.StoredMessage, error) {
	messages := []schemas.StoredMessage{}
	err := d.walkDown(ctx, b, after, 0, func(m stored) bool {
		messages = append(messages, m.StoredMessage)
		return true
	})
	return reversed(messages), err
}

// seqsUp returns the seqs of a branch above one, oldest first.
func (d *DB) seqsUp(ctx context.Context, b branch, after int64) ([]int64, error) {
	return database.List(ctx, d.db.Read, database.One[int64], `WITH RECURSIVE path(seq, parent) AS (
			SELECT seq, parent FROM messages WHERE conversation = $1 AND seq = $3 AND seq > $2
			UNION ALL
			SELECT m.seq, m.parent FROM path JOIN messages m ON m.conversation = $1 AND m.seq = path.parent AND m.seq > $2)
		SELECT seq FROM path ORDER BY seq`, b.num, after, b.head)
}

// renderedSummary returns the summary of a branch up to a message: the nearest text that
// covers all before it, and the pieces after that.
func renderedSummary(ctx context.Context, from database.Querier, num, head int64) (s Summary, err error) {
	pieces, err := database.List(ctx, from, func(row *sql.Rows) (p schemas.Piece, err error) {
		err = row.Scan(&p.Seq, &p.Text)
		return p, err
	}, piecesUp, num, head)
	var texts []string
	for _, p := range pieces {
		s.Covers = p.Seq
		if p.Text != "" {
			texts = append(texts, p.Text)
		}
	}
	s.Text = strings.Join(texts, "\n\n")
	return s, err
}

// Messages returns messages of a branch of the conversation, oldest first, and the number of
// all on the branch. An unknown conversation has none.
func (d *DB) Messages(ctx context.Context, owner, id string, r MessageRange) ([]schemas.StoredMessage, int, error) {
	const op = "read messages"
	c, err := d.find(ctx, owner, id)
	if errors.Is(err, sql.ErrNoRows) {
		return []schemas.StoredMessage{}, 0, nil
	}
	if err != nil {
		return nil, 0, d.db.Fault(op, err)
	}
	b, err := d.branchOf(ctx, c, r.Branch)
	if err != nil {
		return nil, 0, d.db.Fault(op, err)
	}
	after, total := int64(0), c.messages
	if r.Uncovered {
		after = c.covers
	}
	switch {
	case b.linear:
		// The seqs have no gaps. (A LIMIT that is a parameter would make SQLite plan the
		// statement anew each time.)
		if b.head -= int64(r.SkipLast); r.Last > 0 {
			after = max(after, b.head-int64(r.Last))
		}
	default:
		seqs, err := d.seqsUp(ctx, b, 0)
		if err != nil {
			return nil, 0, d.db.Fault(op, err)
		}
		total, b.head = len(seqs), seqBefore(seqs, r.SkipLast)
		if r.Last > 0 {
			after = max(after, seqBefore(seqs, r.Last+r.SkipLast))
		}
	}
	messages, err := d.messagesOf(ctx, b, after)
	if err != nil {
		return nil, 0, d.db.Fault(op, err)
	}
	if !r.Tree {
		hideParents(messages)
	}
	return messages, total, nil
}

// seqBefore returns the last seq when so many are left out at the end, 0 when none is left.
func seqBefore(seqs []int64, skip int) int64 {
	if skip >= len(seqs) {
		return 0
	}
	return seqs[len(seqs)-1-skip]
}

// MessagesAfter returns the messages of a branch whose seq is above after, at most limit of
// them, oldest first. next is the seq to continue after, 0 at the end. A page may hold fewer
// messages than limit before the end. An unknown conversation has none.
func (d *DB) MessagesAfter(ctx context.Context, owner, id string, b Branch, after int64, limit int) (page []schemas.StoredMessage, next int64, err error) {
	const op = "read messages"
	c, err := d.find(ctx, owner, id)
	if errors.Is(err, sql.ErrNoRows) {
		return []schemas.StoredMessage{}, 0, nil
	}
	if err != nil {
		return nil, 0, d.db.Fault(op, err)
	}
	br, err := d.branchOf(ctx, c, b)
	if err != nil {
		return nil, 0, d.db.Fault(op, err)
	}
	if last := br.head; br.linear {
		if after == 0 && c.lastSeq > int64(c.messages) { // skip the seqs of cleared messages
			if after, err = d.beforeFirst(ctx, c.num); err != nil {
				return nil, 0, d.db.Fault(op, err)
			}
		}
		if br.head = min(after+int64(limit), last); br.head < last {
			next = br.head
		}
	} else {
		seqs, err := d.seqsUp(ctx, br, after)
		if err != nil {
			return nil, 0, d.db.Fault(op, err)
		}
		if len(seqs) > limit {
			next = seqs[limit-1]
			br.head = next
		}
	}
	if page, err = d.messagesOf(ctx, br, after); !b.Tree {
		hideParents(page)
	}
	return page, next, d.db.Fault(op, err)
}

// beforeFirst returns the seq before the first message.
func (d *DB) beforeFirst(ctx context.Context, num int64) (seq int64, err error) {
	err = d.db.Read.QueryRowContext(ctx, `SELECT coalesce(min(seq), 1) - 1 FROM messages WHERE conversation = $1`, num).Scan(&seq)
	return seq, err
}

func hideParents(messages []schemas.StoredMessage) {
	for i := range messages {
		messages[i].Parent = 0
	}
}
