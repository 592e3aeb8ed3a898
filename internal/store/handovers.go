package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"time"

	"molar/internal/store/database"
	"molar/schemas"
)

const handoverColumns = `id, owner, conversation_id, assistant, language, reason, contact, state, callback, created_at, changed_at`

// PutHandover stores a new hand-over and, in the same transaction, events about it for a webhook. If its
// conversation has one that is not closed, or was erased since CreatedAt, the error is [ErrConflict].
func (s *State) PutHandover(ctx context.Context, h schemas.Handover, events ...schemas.WebhookEvent) error {
	const op = "store a hand-over"
	if h.ID == "" || h.Owner == "" || h.ConversationID == "" || h.State == "" || h.CreatedAt.IsZero() {
		return s.db.Fault(op, fmt.Errorf("%w: a hand-over has an id, an owner, a conversation, a state and a time", ErrInvalid))
	}
	contact, err := json.Marshal(h.Contact)
	if err != nil {
		return s.db.Fault(op, err)
	}
	callback := 0
	if h.Callback {
		callback = 1
	}
	return s.db.Write(ctx, op, func(tx *sql.Tx) error {
		if erased, err := erasedIn(ctx, tx, h.ConversationID, h.Owner, h.CreatedAt); err != nil {
			return err
		} else if erased {
			return fmt.Errorf("%w: the conversation was erased", ErrConflict)
		}
		text := s.db.SQL.Text
		n, err := database.Changed(tx.ExecContext(ctx, `INSERT INTO handovers (`+handoverColumns+`)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $10) ON CONFLICT DO NOTHING`,
			h.ID, h.Owner, text(h.ConversationID), text(h.Assistant), text(h.Language), string(h.Reason), text(string(contact)), string(h.State),
			callback, database.Millis(h.CreatedAt)))
		if err == nil && n == 0 {
			err = fmt.Errorf("%w: the conversation has a hand-over that is not closed", ErrConflict)
		}
		for _, e := range events {
			if err == nil {
				err = s.putEventIn(ctx, tx, e)
			}
		}
		return err
	})
}

// OpenHandover returns the hand-over of an owner's conversation that is not closed; ok is false if there is none.
func (s *State) OpenHandover(ctx context.Context, owner, conversation string) (h schemas.Handover, ok bool, err error) {
	return s.handover(ctx, `owner = $1 AND conversation_id = $2 AND state <> 'closed'`, owner, s.db.SQL.Text(conversation))
}

// HandoverByID returns a hand-over of any owner; ok is false if there is none with that id.
func (s *State) HandoverByID(ctx context.Context, id string) (h schemas.Handover, ok bool, err error) {
	return s.handover(ctx, `id = $1`, s.db.SQL.Text(id))
}

// LastHandover returns the newest hand-over of a conversation, closed or not; ok is false if it never had one.
func (s *State) LastHandover(ctx context.Context, conversation string) (h schemas.Handover, ok bool, err error) {
	return s.handover(ctx, `conversation_id = $1 ORDER BY created_at DESC, id DESC LIMIT 1`, s.db.SQL.Text(conversation))
}

// MoveHandover sets the state of a hand-over and when it changed; ok is false if it does not exist or is in none
// of the states from which it may go; nil allows all. With the state that it is in already, it moves the time alone.
func (s *State) MoveHandover(ctx context.Context, id string, from []schemas.HandoverState, to schemas.HandoverState, at time.Time) (ok bool, err error) {
	among, args := oneOf("state", from, 4)
	n, err := s.db.Exec(ctx, "move a hand-over", `UPDATE handovers SET state = $2, changed_at = $3 WHERE id = $1`+among,
		append([]any{s.db.SQL.Text(id), string(to), database.Millis(at)}, args...)...)
	return n == 1, err
}

// Handovers returns up to limit hand-overs of all owners in one of the states, in any if they are nil, the newest
// first. after is the id of the last one of the page before, empty for the first page.
func (s *State) Handovers(ctx context.Context, states []schemas.HandoverState, limit int, after string) ([]schemas.Handover, error) {
	among, args := oneOf("state", states, 3)
	return s.handovers(ctx, `($2 = '' OR (created_at, id) < (SELECT p.created_at, p.id FROM handovers p WHERE p.id = $2))`+among+`
		ORDER BY created_at DESC, id DESC LIMIT $1`, append([]any{limit, s.db.SQL.Text(after)}, args...)...)
}

// StaleHandovers returns the hand-overs that are not closed and did not change since a time, the oldest change
// first.
func (s *State) StaleHandovers(ctx context.Context, before time.Time) ([]schemas.Handover, error) {
	return s.handovers(ctx, `state <> 'closed' AND changed_at < $1 ORDER BY changed_at, id`, database.Millis(before))
}

func (s *State) handover(ctx context.Context, where string, args ...any) (h schemas.Handover, ok bool, err error) {
	found, err := s.handovers(ctx, where, args...)
	if err != nil || len(found) == 0 {
		return h, false, err
	}
	return found[0], true, nil
}

func (s *State) handovers(ctx context.Context, where string, args ...any) ([]schemas.Handover, error) {
	found, err := database.List(ctx, s.db.Read, func(row *sql.Rows) (h schemas.Handover, err error) {
		var contact string
		var created, changed int64
		err = row.Scan(&h.ID, &h.Owner, &h.ConversationID, &h.Assistant, &h.Language, &h.Reason, &contact, &h.State, &h.Callback, &created, &changed)
		if err == nil {
			err = json.Unmarshal([]byte(contact), &h.Contact)
		}
		h.CreatedAt, h.ChangedAt = database.TimeAt(created), database.TimeAt(changed)
		return h, err
	}, `SELECT id, owner, conversation_id, assistant, language, reason, contact, state, callback <> 0, created_at, changed_at
		FROM handovers WHERE `+where, args...)
	return found, s.db.Fault("read hand-overs", err)
}
