package store

import (
	"context"
	"database/sql"
	"iter"
	"math"
	"slices"
	"time"

	"molar/internal/store/database"
	"molar/schemas"
)

// Exported is a conversation with all its messages.
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
	Messages []ExportedMessage `json:"messages"`
	// Pieces are the summaries of exchanges, Compactions the texts that replaced the beginning
	// of the conversation in prompts.
	Pieces      []schemas.Piece      `json:"pieces,omitempty"`
	Compactions []schemas.Compaction `json:"compactions,omitempty"`
	// Files are the files of questions, with their data.
	Files []Whole `json:"files,omitempty"`

	num int64
}

// An ExportedMessage is a message with the origins of its texts: of an answer, those of all that its
// turn had read; of a question, those of the texts in it that the person did not type.
type ExportedMessage struct {
	schemas.StoredMessage
	Origins []schemas.Origin `json:"origins,omitempty"`
}

// WithOrigins returns messages with their origins. Those of a question are recorded with its answer.
func WithOrigins(messages []schemas.StoredMessage) []ExportedMessage {
	all := make([]ExportedMessage, len(messages))
	asked := make(map[string]int)
	for i, m := range messages {
		all[i].StoredMessage = m
		if m.Role == schemas.RoleUser {
			asked[m.TurnID] = i
			continue
		}
		if rounds := m.Rounds(); len(rounds) > 0 {
			all[i].Origins = rounds[0].Read
			if at, known := asked[m.TurnID]; known {
				all[at].Origins = rounds[0].Question
			}
		}
	}
	return all
}

// exportPage is how many conversations are read at once, so that no read stays open
// while their messages are read and written elsewhere.
const exportPage = 100

// Export yields the conversations of an owner, an empty one meaning all; an id selects those
// with that id. Each is read when its turn comes.
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

// exportMessages reads the messages of a conversation, and their summaries.
func (d *DB) exportMessages(ctx context.Context, c *Exported) error {
	var messages []schemas.StoredMessage
	err := d.walkDown(ctx, branch{num: c.num, head: math.MaxInt64, linear: true}, 0, 0, func(m stored) bool {
		messages = append(messages, m.StoredMessage)
		if m.piece.String != "" || m.condensed.String != "" {
			c.Pieces = append(c.Pieces, schemas.Piece{Seq: m.Seq, Text: m.piece.String, Condensed: m.condensed.String})
		}
		return true
	})
	slices.Reverse(messages)
	c.Messages = WithOrigins(messages)
	slices.Reverse(c.Pieces)
	if err == nil {
		c.Files, err = d.ExportFiles(ctx, c.Owner, c.ID)
	}
	if err != nil {
		return err
	}
	compactions, err := database.List(ctx, d.db.Read, func(row *sql.Rows) (k schemas.Compaction, err error) {
		err = row.Scan(&k.Covers, &k.Text)
		return k, err
	}, `SELECT seq, text FROM compactions WHERE conversation = $1 ORDER BY seq`, c.num)
	c.Compactions = append(c.Compactions, compactions...)
	return err
}

func (d *DB) exportPage(ctx context.Context, owner, id string, after int64) ([]Exported, error) {
	return database.List(ctx, d.db.Read, scanExported, `SELECT num, owner, id, title, created_at, updated_at, summary, covers
		FROM conversations WHERE num > $1 AND ($2 = '' OR owner = $2) AND ($3 = '' OR id = $3)
		ORDER BY num LIMIT $4`, after, owner, id, exportPage)
}

func scanExported(rows *sql.Rows) (c Exported, err error) {
	var created, updated int64
	err = rows.Scan(&c.num, &c.Owner, &c.ID, &c.Title, &created, &updated, &c.Summary, &c.Covers)
	c.CreatedAt, c.UpdatedAt = database.TimeAt(created), database.TimeAt(updated)
	return c, err
}

// Owners returns the owners of conversations with that id; "" for one without an owner.
func (d *DB) Owners(ctx context.Context, id string) ([]string, error) {
	owners, err := database.List(ctx, d.db.Read, database.One[string], `SELECT owner FROM conversations WHERE id = $1 ORDER BY owner`, id)
	return owners, d.db.Fault("find conversation", err)
}
