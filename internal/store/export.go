package store

import (
	"context"
	"database/sql"
	"iter"
	"math"
	"slices"
	"time"

	"molar/internal/store/database"
	"molar/internal/store/files"
	"molar/schemas"
)

// Exported is a conversation with all that was said in it.
type Exported struct {
	Owner     string    `json:"owner,omitempty"`
	ID        string    `json:"id"`
	Title     string    `json:"title"`
	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"`
	Summary   string    `json:"summary"`
	// Covers is the seq of the last message that the summary covers.
	Covers int64 `json:"covers"`
	// Messages are those of all branches.
	Messages []schemas.StoredMessage `json:"messages"`
	// Pieces are the summaries of exchanges, Compactions the texts that stood for the
	// beginning of the conversation in prompts.
	Pieces      []schemas.Piece      `json:"pieces,omitempty"`
	Compactions []schemas.Compaction `json:"compactions,omitempty"`
	// Files are those beside questions, whole.
	Files []files.Whole `json:"files,omitempty"`

	num int64
}

// exportPage is how many conversations are read at once, so that no read stays open
// while their messages are read and written elsewhere.
const exportPage = 100

// Export yields the conversations of an owner, an empty one meaning all; an id keeps
// those of that id. Each is as it was when its turn came.
func (d *DB) Export(ctx context.Context, owner, id string) iter.Seq2[Exported, error] {
	return func(yield func(Exported, error) bool) {
		const op = "export conversations"
		for after := int64(0); ; {
			page, err := d.exportPage(ctx, owner, id, after)
			if err != nil {
				yield(Exported{}, d.db.Fault(op, err))
				return
			}
			for _, c := range page {
				after = c.num
				if err = d.exportMessages(ctx, &c); err != nil {
					yield(Exported{}, d.db.Fault(op, err))
					return
				}
				if !yield(c, nil) {
					return
				}
			}
			if len(page) < exportPage {
				return
			}
		}
	}
}

// exportMessages reads what was said in a conversation, and what was made of it.
func (d *DB) exportMessages(ctx context.Context, c *Exported) error {
	c.Messages = []schemas.StoredMessage{}
	err := d.walkDown(ctx, branch{num: c.num, head: math.MaxInt64, linear: true}, 0, 0, func(m stored) bool {
		c.Messages = append(c.Messages, m.StoredMessage)
		if m.piece.String != "" || m.condensed.String != "" {
			c.Pieces = append(c.Pieces, schemas.Piece{Seq: m.Seq, Text: m.piece.String, Condensed: m.condensed.String})
		}
		return true
	})
	slices.Reverse(c.Messages)
	slices.Reverse(c.Pieces)
	if err == nil {
		c.Files, err = d.ExportFiles(ctx, c.Owner, c.ID)
	}
	if err != nil {
		return err
	}
	rows, err := d.db.Read.QueryContext(ctx, `SELECT seq, text FROM compactions WHERE conversation = $1 ORDER BY seq`, c.num)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var k schemas.Compaction
		if err := rows.Scan(&k.Covers, &k.Text); err != nil {
			return err
		}
		c.Compactions = append(c.Compactions, k)
	}
	return rows.Err()
}

func (d *DB) exportPage(ctx context.Context, owner, id string, after int64) ([]Exported, error) {
	rows, err := d.db.Read.QueryContext(ctx, `SELECT num, owner, id, title, created_at, updated_at, summary, covers
		FROM conversations WHERE num > $1 AND ($2 = '' OR owner = $2) AND ($3 = '' OR id = $3)
		ORDER BY num LIMIT $4`, after, owner, id, exportPage)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var page []Exported
	for rows.Next() {
		c, err := scanExported(rows)
		if err != nil {
			return nil, err
		}
		page = append(page, c)
	}
	return page, rows.Err()
}

func scanExported(rows *sql.Rows) (c Exported, err error) {
	var created, updated int64
	err = rows.Scan(&c.num, &c.Owner, &c.ID, &c.Title, &created, &updated, &c.Summary, &c.Covers)
	c.CreatedAt, c.UpdatedAt = database.TimeAt(created), database.TimeAt(updated)
	return c, err
}

// Owners returns who has a conversation of that id; nobody's counts as "".
func (d *DB) Owners(ctx context.Context, id string) ([]string, error) {
	const op = "find conversation"
	rows, err := d.db.Read.QueryContext(ctx, `SELECT owner FROM conversations WHERE id = $1 ORDER BY owner`, id)
	if err != nil {
		return nil, d.db.Fault(op, err)
	}
	defer rows.Close()
	var owners []string
	for rows.Next() {
		var owner string
		if err := rows.Scan(&owner); err != nil {
			return nil, d.db.Fault(op, err)
		}
		owners = append(owners, owner)
	}
	return owners, d.db.Fault(op, rows.Err())
}
