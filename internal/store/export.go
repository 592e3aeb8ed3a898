package store

import (
	"context"
	"database/sql"
	"iter"
	"time"

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
	Covers   int64                   `json:"covers"`
	Messages []schemas.StoredMessage `json:"messages"`

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
				yield(Exported{}, d.fault(op, err))
				return
			}
			for _, c := range page {
				after = c.num
				if c.Messages, err = d.messagesAfter(ctx, c.num, 0); err != nil {
					yield(Exported{}, d.fault(op, err))
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

func (d *DB) exportPage(ctx context.Context, owner, id string, after int64) ([]Exported, error) {
	rows, err := d.read.QueryContext(ctx, `SELECT num, owner, id, title, created_at, updated_at, summary, covers
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
	c.CreatedAt, c.UpdatedAt = timeAt(created), timeAt(updated)
	return c, err
}

// Owners returns who has a conversation of that id; nobody's counts as "".
func (d *DB) Owners(ctx context.Context, id string) ([]string, error) {
	const op = "find conversation"
	rows, err := d.read.QueryContext(ctx, `SELECT owner FROM conversations WHERE id = $1 ORDER BY owner`, id)
	if err != nil {
		return nil, d.fault(op, err)
	}
	defer rows.Close()
	var owners []string
	for rows.Next() {
		var owner string
		if err := rows.Scan(&owner); err != nil {
			return nil, d.fault(op, err)
		}
		owners = append(owners, owner)
	}
	return owners, d.fault(op, rows.Err())
}
