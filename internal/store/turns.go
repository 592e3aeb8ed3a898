package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"molar/internal/store/database"
	"molar/schemas"
)

// BeginTurn takes the lease and reads what the turn needs. It writes nothing else. The lease
// comes first: this turn sees all that was saved under an earlier one.
func (d *DB) BeginTurn(ctx context.Context, req TurnRequest) (schemas.Opening, error) {
	const op = "begin turn"
	start := schemas.Opening{ConversationID: req.ConversationID, Messages: []schemas.StoredMessage{}, ServersRead: []string{}}
	owner, parent := req.Owner, (*tip)(nil)
	keyed, err := d.keyedTurn(ctx, req)
	if err != nil {
		return start, d.db.Fault(op, err)
	}
	if keyed != nil { // a turn begun under the key continues in its conversation
		start.ConversationID, owner, start.Finished = keyed.conversation, keyed.owner, keyed.finished
	}
	if req.Parent != nil {
		if parent, err = d.parentOf(ctx, req.Owner, start.ConversationID, *req.Parent); err != nil {
			return start, d.db.Fault(op, err)
		}
	}
	if start.Finished == nil {
		if owner, start.Lease, err = d.lease(ctx, op, req, start.ConversationID, parent); err != nil {
			return start, err
		}
		// After the lease: an erasure that comes later takes it away.
		if erased, err := erasedIn(d.db.Short(ctx), d.db.Read, "", owner, req.Began); erased || err != nil {
			if erased {
				err = ErrStaleLease
			}
			return start, d.db.Fault(op, errors.Join(err, d.EndTurn(context.WithoutCancel(ctx), start.Lease)))
		}
	}
	if err = d.readContext(ctx, owner, req.Most, parent, &start); err == nil {
		err = ctx.Err()
	}
	if keyed != nil && start.Finished == nil { // it is asked again
		start.Messages = slices.DeleteFunc(start.Messages, func(m schemas.StoredMessage) bool { return m.TurnID == keyed.turnID })
	}
	if err != nil && start.Lease.Token != "" { // nobody will use it
		err = errors.Join(err, d.EndTurn(context.WithoutCancel(ctx), start.Lease))
	}
	return start, d.db.Fault(op, err)
}

// Turn returns what is stored of an owner's turn; an unknown one is [ErrNoTurn]. A turn whose
// lease is no longer held is interrupted, recorded so or not.
func (d *DB) Turn(ctx context.Context, owner, turnID string) (schemas.StoredTurn, error) {
	const op = "read a turn"
	t := schemas.StoredTurn{TurnID: turnID}
	var sources string
	var began, saved int64
	var held bool
	err := d.db.Read.QueryRowContext(ctx, d.db.SQL.Say(`SELECT c.id, a.assistant, t.status, q.content, a.content, a.sources, q.timestamp, t.saved_at,
			EXISTS (SELECT 1 FROM leases l WHERE l.id = c.id AND l.owner = c.owner AND l.turn_id = t.turn_id AND l.expires > NOW())
		FROM turns t JOIN conversations c ON c.num = t.conversation
		JOIN messages q ON q.conversation = t.conversation AND q.seq = t.user_seq
		JOIN messages a ON a.conversation = t.conversation AND a.seq = t.answer_seq
		WHERE t.turn_id = $2 AND ($3 = '' OR c.owner = $3)`), d.db.Clock(), turnID, owner).
		Scan(&t.ConversationID, &t.Assistant, &t.Status, &t.Question, &t.Answer, &sources, &began, &saved, &held)
	if errors.Is(err, sql.ErrNoRows) {
		err = fmt.Errorf("%w: %q", ErrNoTurn, turnID)
	}
	if err == nil && sources != "" {
		err = json.Unmarshal([]byte(sources), &t.Sources)
	}
	if t.Status == schemas.StatusRunning && !held {
		t.Status = schemas.StatusInterrupted
	}
	t.BeganAt, t.SavedAt = database.TimeAt(began), database.TimeAt(saved)
	return t, d.db.Fault(op, err)
}

// A tip is the last turn of a branch that is not the newest.
type tip struct {
	num, seq, compaction int64
	turn, subject        string
}

// parentOf finds the turn to continue; an empty id is the root. It is nil for the last turn of
// the newest branch, which a turn continues anyway.
func (d *DB) parentOf(ctx context.Context, owner, id, turnID string) (*tip, error) {
	c, err := d.find(ctx, owner, id)
	unknown := errors.Is(err, sql.ErrNoRows)
	switch {
	case err != nil && !unknown:
		return nil, err
	case turnID == "" && (unknown || c.head == 0), turnID != "" && turnID == c.tip:
		return nil, nil //nolint:nilnil // the newest branch
	case turnID == "":
		return &tip{num: c.num}, nil
	case unknown:
		return nil, fmt.Errorf("%w: %q", ErrNoTurn, turnID)
	}
	return d.tipOf(ctx, c.num, turnID)
}

// tipOf finds a turn of a conversation.
func (d *DB) tipOf(ctx context.Context, num int64, turnID string) (*tip, error) {
	t := &tip{turn: turnID}
	err := d.db.Read.QueryRowContext(ctx, `SELECT conversation, answer_seq, subject, compaction_seq FROM turns WHERE turn_id = $1`, turnID).
		Scan(&t.num, &t.seq, &t.subject, &t.compaction)
	if errors.Is(err, sql.ErrNoRows) || err == nil && t.num != num {
		return nil, fmt.Errorf("%w: %q", ErrNoTurn, turnID)
	}
	return t, err
}

// readContext fills in the state of the conversation.
func (d *DB) readContext(ctx context.Context, owner string, most int, parent *tip, start *schemas.Opening) error {
	var c conversation
	var servers string
	err := d.stmts.reading[openConversation].QueryRowContext(d.db.Short(ctx), start.ConversationID, owner).
		Scan(&c.num, &start.Summary, &start.Covers, &servers, &c.head, &start.Tip, &c.linear, &start.Assistant,
			&start.Subject, &start.Compaction.Covers, &start.Compaction.Text)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err != nil {
		return err
	}
	start.Known = true
	if servers != "[]" {
		if err := json.Unmarshal([]byte(servers), &start.ServersRead); err != nil {
			return err
		}
	}
	if parent != nil {
		if err := d.readBranch(ctx, parent, start); err != nil {
			return err
		}
		c.head = parent.seq
	}
	return d.readMessages(ctx, c, most, start)
}

// readBranch replaces the state of the newest branch by that of another.
func (d *DB) readBranch(ctx context.Context, at *tip, start *schemas.Opening) error {
	start.Tip, start.Subject, start.Assistant = at.turn, at.subject, ""
	start.Compaction = schemas.Compaction{}
	err := d.db.Read.QueryRowContext(ctx, `SELECT m.assistant, coalesce(k.seq, 0), coalesce(k.text, '') FROM messages m
		LEFT JOIN compactions k ON k.conversation = m.conversation AND k.seq = $3
		WHERE m.conversation = $1 AND m.seq = $2`, at.num, at.seq, at.compaction).
		Scan(&start.Assistant, &start.Compaction.Covers, &start.Compaction.Text)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	start.Assistant = answering(start.Assistant)
	s, err := renderedSummary(ctx, d.stmts.reading, at.num, at.seq)
	start.Summary, start.Covers = s.Text, s.Covers
	return err
}

// readMessages reads the newest messages that the compaction does not cover, starting at a
// question; a last exchange is read whole even if it alone is too long.
func (d *DB) readMessages(ctx context.Context, c conversation, most int, start *schemas.Opening) error {
	var messages []schemas.StoredMessage // the newest first
	whole, room := 0, most
	err := d.walkDown(ctx, c.newest(), start.Compaction.Covers, most, func(m stored) bool {
		if room -= weight(m.StoredMessage); most > 0 && room < 0 && whole > 0 {
			start.Partial = true
			return false
		}
		if m.piece.String != "" || m.condensed.String != "" {
			start.Pieces = append(start.Pieces, schemas.Piece{Seq: m.Seq, Text: m.piece.String, Condensed: m.condensed.String})
		}
		if messages = append(messages, m.StoredMessage); m.Role == schemas.RoleUser {
			whole = len(messages)
		}
		return true
	})
	if start.Partial {
		messages = messages[:whole]
	}
	hideParents(messages)
	start.Messages = append(start.Messages, reversed(messages)...)
	start.Pieces = reversed(start.Pieces)
	return err
}

// keyedTurn is a turn that was begun under a key, and its place.
type keyedTurn struct {
	conversation, owner string
	turnID              string
	// finished is nil for a turn without a complete answer.
	finished *schemas.Finished
}

// keyedTurn looks for the turn of the key; nil means none.
func (d *DB) keyedTurn(ctx context.Context, req TurnRequest) (*keyedTurn, error) {
	if req.Key == "" {
		return nil, nil //nolint:nilnil // no key, no turn
	}
	// With an id, the conversation is the owner's with that id; without one, the key must be
	// the owner's own.
	where, args := `c.id = $2 AND ($3 = '' OR c.owner = $3)`, []any{req.Key, req.ConversationID, req.Owner}
	if req.AnyConversation {
		where, args = `c.owner = $2`, []any{req.Key, req.Owner}
	}
	// A key that is the turn's own id is not stored twice.
	//nolint:gosec // both texts are constants of this function
	row := d.db.Read.QueryRowContext(ctx, `SELECT c.id, c.owner, t.turn_id, t.saved_at, m.content, m.sources, m.status
		FROM turns t JOIN conversations c ON c.num = t.conversation
		JOIN messages m ON m.conversation = t.conversation AND m.seq = t.answer_seq
		WHERE (t.key = $1 OR t.turn_id = $1 AND t.key = '') AND `+where+` ORDER BY c.owner, t.status, t.saved_at DESC LIMIT 1`, args...)
	var found keyedTurn
	var saved int64
	var sources string
	t := schemas.Finished{Sources: []schemas.Source{}}
	err := row.Scan(&found.conversation, &found.owner, &t.TurnID, &saved, &t.Answer, &sources, &t.Status)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil //nolint:nilnil // no such turn
	}
	found.turnID = t.TurnID
	if err != nil || saved == 0 || t.Status == schemas.StatusInterrupted {
		return &found, err
	}
	t.SavedAt, found.finished = database.TimeAt(saved), &t
	if sources != "" {
		err = json.Unmarshal([]byte(sources), &t.Sources)
	}
	return &found, err
}
