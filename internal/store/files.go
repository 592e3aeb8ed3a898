package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"molar/internal/store/database"
	"molar/schemas"
)

// Refusals for the caller to handle.
const (
	// ErrTooMuch means that a conversation has no room for a file.
	ErrTooMuch = database.RefusalError("the conversation has no room for this file")
	// ErrNoFile means that there is no such file, or no such part of it.
	ErrNoFile = database.RefusalError("there is no such file in this conversation")
)

// Files keeps files in a database. It is safe for concurrent use.
type Files struct{ db *database.DB }

// newFiles returns the store of a database, which the caller closes.
func newFiles(db *database.DB) *Files { return &Files{db} }

// PutFile stores a part of a file of a turn that was saved under the lease; its first part
// replaces a file of that number. most is how many bytes the files of the conversation may
// have together: a file that does not fit is [ErrTooMuch].
func (s *Files) PutFile(ctx context.Context, l schemas.Lease, turnID string, f schemas.File, c schemas.FileChunk, most int64) error {
	return s.db.WriteRelaxed(ctx, "keep file", func(tx *sql.Tx) error {
		var num int64
		err := tx.QueryRowContext(ctx, `SELECT t.conversation, t.user_seq FROM turns t JOIN conversations c ON c.num = t.conversation
			WHERE t.turn_id = $1 AND c.id = $2`, turnID, l.ConversationID).Scan(&num, &f.Seq)
		if errors.Is(err, sql.ErrNoRows) {
			return fmt.Errorf("%w: the turn of this file is not saved in this conversation", database.ErrConflict)
		}
		if err == nil && c.Part == 0 {
			err = s.begin(ctx, tx, num, f, most)
		}
		if err == nil {
			_, err = tx.ExecContext(ctx, `INSERT INTO file_parts (conversation, seq, n, part, data) VALUES ($1, $2, $3, $4, $5)`, num, f.Seq, f.N, c.Part, c.Data)
		}
		if err != nil || !c.Last {
			return err
		}
		n, err := database.Changed(tx.ExecContext(ctx, `UPDATE files SET whole = 1 WHERE conversation = $1 AND seq = $2 AND n = $3 AND size =
			(SELECT sum(length(data)) FROM file_parts WHERE conversation = $1 AND seq = $2 AND n = $3)`, num, f.Seq, f.N))
		if err != nil || n == 1 {
			return err
		}
		return fmt.Errorf("%w: the parts of file %d are not %d bytes together", database.ErrInvalid, f.N, f.Size)
	})
}

// begin makes room for a file.
func (s *Files) begin(ctx context.Context, tx *sql.Tx, num int64, f schemas.File, most int64) error {
	if _, err := tx.ExecContext(ctx, `DELETE FROM files WHERE conversation = $1 AND seq = $2 AND n = $3`, num, f.Seq, f.N); err != nil {
		return err
	}
	var used int64
	if err := tx.QueryRowContext(ctx, `SELECT coalesce(sum(size), 0) FROM files WHERE conversation = $1`, num).Scan(&used); err != nil {
		return err
	}
	if used+f.Size > most {
		return fmt.Errorf("%w: it has %d bytes, and %d of %d are used", ErrTooMuch, f.Size, used, most)
	}
	_, err := tx.ExecContext(ctx, `INSERT INTO files (conversation, seq, n, name, media, size) VALUES ($1, $2, $3, $4, $5, $6)`,
		num, f.Seq, f.N, s.db.SQL.Text(f.Name), s.db.SQL.Text(f.Media), f.Size)
	return err
}

const ofConversation = ` FROM files f JOIN conversations c ON c.num = f.conversation WHERE c.id = $1 AND ($2 = '' OR c.owner = $2) AND f.whole = 1`

// ListFiles returns the files of a conversation, of all its branches, in their order.
func (s *Files) ListFiles(ctx context.Context, owner, id string) ([]schemas.File, error) {
	all, err := database.List(ctx, s.db.Read, func(row *sql.Rows) (f schemas.File, err error) {
		err = row.Scan(&f.Seq, &f.N, &f.Name, &f.Media, &f.Size)
		return f, err
	}, `SELECT f.seq, f.n, f.name, f.media, f.size`+ofConversation+` ORDER BY f.seq, f.n`, id, owner)
	return all, s.db.Fault("list files", err)
}

// ReadFile returns the file's description, and one part of it.
func (s *Files) ReadFile(ctx context.Context, owner, id string, seq int64, n, part int) (f schemas.File, c schemas.FileChunk, err error) {
	const op = "read file"
	f.Seq, f.N, c.Part = seq, n, part
	var num, parts int64
	err = s.db.Read.QueryRowContext(ctx, `SELECT f.conversation, f.name, f.media, f.size,
		(SELECT count(*) FROM file_parts p WHERE p.conversation = f.conversation AND p.seq = f.seq AND p.n = f.n)`+
		ofConversation+` AND f.seq = $3 AND f.n = $4 ORDER BY c.owner LIMIT 1`, id, owner, seq, n).Scan(&num, &f.Name, &f.Media, &f.Size, &parts)
	if err == nil {
		err = s.db.Read.QueryRowContext(ctx, `SELECT data FROM file_parts WHERE conversation = $1 AND seq = $2 AND n = $3 AND part = $4`, num, seq, n, part).Scan(&c.Data)
	}
	if errors.Is(err, sql.ErrNoRows) {
		return f, c, ErrNoFile
	}
	c.Last = int64(part) == parts-1
	return f, c, s.db.Fault(op, err)
}

// Whole is a file with its data.
type Whole struct {
	schemas.File
	Data []byte `json:"data"`
}

// ExportFiles returns the files of a conversation with their data.
func (s *Files) ExportFiles(ctx context.Context, owner, id string) ([]Whole, error) {
	list, err := s.ListFiles(ctx, owner, id)
	var all []Whole
	for i := 0; i < len(list) && err == nil; i++ {
		whole := Whole{File: list[i]}
		for part, last := 0, false; !last && err == nil; part++ {
			var c schemas.FileChunk
			_, c, err = s.ReadFile(ctx, owner, id, list[i].Seq, list[i].N, part)
			whole.Data, last = append(whole.Data, c.Data...), c.Last
		}
		all = append(all, whole)
	}
	return all, err
}
