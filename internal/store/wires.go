package store

import (
	"bytes"
	"compress/gzip"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"time"

	"molar/internal/store/database"
)

// Limits of the stored wire traffic, in bytes as stored: of one turn, and of all together.
const (
	MaxWire  = 2 << 20
	maxWires = 256 << 20
)

// A Wire is what models and servers sent in a turn: a tape.
type Wire struct {
	TurnID, ConversationID, Owner string
	// Started is when the turn began: one whose conversation was erased since is not stored.
	Started, Expires time.Time
	Tape             []byte
}

// PutWire stores the wire traffic of a turn, compressed.
func (s *State) PutWire(ctx context.Context, w Wire) error {
	var b bytes.Buffer
	pack := gzip.NewWriter(&b)
	_, err := pack.Write(w.Tape)
	if err = errors.Join(err, pack.Close()); err != nil {
		return err
	}
	if b.Len() > MaxWire {
		return fmt.Errorf("%w: the wire traffic of turn %q has %d bytes, %d are allowed", database.ErrInvalid, w.TurnID, b.Len(), MaxWire)
	}
	return s.db.WriteRelaxed(ctx, "put wire traffic", func(tx *sql.Tx) error {
		//nolint:gosec // the condition has only numbers in it
		_, err := tx.ExecContext(ctx, `INSERT INTO wires (turn_id, owner, conversation_id, created_at, expires, size, tape)
			SELECT CAST($1 AS TEXT), CAST($2 AS TEXT), CAST($3 AS TEXT), CAST($4 AS BIGINT), CAST($5 AS BIGINT), CAST($6 AS BIGINT), $7
			WHERE NOT `+erasedSince(3, 2, 8, 4)+`
			ON CONFLICT (turn_id) DO UPDATE SET expires = excluded.expires, size = excluded.size, tape = excluded.tape`,
			w.TurnID, w.Owner, w.ConversationID, database.Millis(w.Started), database.Millis(w.Expires), b.Len(), b.Bytes(), ErasureMark(w.Owner))
		return err
	})
}

// GetWire returns the tape of a turn; ok is false if there is none, or it has expired.
func (s *State) GetWire(ctx context.Context, turnID string) (tape []byte, ok bool, err error) {
	var packed []byte
	err = s.db.Read.QueryRowContext(ctx, `SELECT tape FROM wires WHERE turn_id = $1 AND expires > $2`, turnID, database.Millis(s.db.Now())).Scan(&packed)
	if ok, err = s.db.Found("get wire traffic", err); !ok {
		return nil, false, err
	}
	tape, err = unpacked(packed)
	if err != nil {
		return nil, false, fmt.Errorf("wire traffic of turn %q: %w", turnID, err)
	}
	return tape, true, nil
}

func unpacked(packed []byte) ([]byte, error) {
	unpack, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(unpack)
}
