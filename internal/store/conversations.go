package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"molar/internal/store/database"
	"molar/schemas"
)

// conversation is the part of a row that other queries need.
type conversation struct {
	num, covers, lastSeq, head, linear int64
	owner, summary, tip                string
	messages                           int
}

// find returns the owner's conversation with the id, or sql.ErrNoRows.
func (d *DB) find(ctx context.Context, owner, id string) (c conversation, err error) {
	if err := ctx.Err(); err != nil {
		return c, err
	}
	return scanConversation(d.stmts.reading[findConversation].QueryRowContext(d.db.Short(ctx), id, owner))
}

// findIn is find inside a transaction; a missing conversation is ErrNotFound.
func findIn(ctx context.Context, tx *sql.Tx, owner, id string) (conversation, error) {
	return found(tx.QueryRowContext(ctx, findConversation, id, owner), id)
}

// holdIn is findIn, and locks out other writers of the conversation until the transaction
// ends.
func (d *DB) holdIn(ctx context.Context, tx *sql.Tx, owner, id string) (conversation, error) {
	return found(tx.QueryRowContext(ctx, findConversation+d.db.SQL.ForUpdate, id, owner), id)
}

func found(row *sql.Row, id string) (conversation, error) {
	c, err := scanConversation(row)
	if errors.Is(err, sql.ErrNoRows) {
		err = fmt.Errorf("%w: %q", ErrNotFound, id)
	}
	return c, err
}

func scanConversation(row *sql.Row) (c conversation, err error) {
	err = row.Scan(&c.num, &c.owner, &c.summary, &c.covers, &c.lastSeq, &c.head, &c.tip, &c.linear, &c.messages)
	return c, err
}

// Ensure creates the conversation if it does not exist.
func (d *DB) Ensure(ctx context.Context, owner, id string) error {
	const op = "create conversation"
	_, err := d.find(ctx, owner, id)
	if err == nil {
		return nil
	}
	if !errors.Is(err, sql.ErrNoRows) {
		return d.db.Fault(op, err)
	}
	return d.db.Write(ctx, op, func(tx *sql.Tx) error {
		_, err := d.ensureIn(ctx, tx, owner, id)
		return err
	})
}

// ensureIn finds the conversation or creates it.
func (d *DB) ensureIn(ctx context.Context, tx *sql.Tx, owner, id string) (conversation, error) {
	c, err := findIn(ctx, tx, owner, id)
	if !errors.Is(err, ErrNotFound) {
		return c, err
	}
	now := database.Millis(d.db.Now())
	err = tx.QueryRowContext(ctx, `INSERT INTO conversations (owner, id, created_at, updated_at)
		VALUES ($1, $2, $3, $3) ON CONFLICT (id, owner) DO NOTHING RETURNING num`, owner, id, now).Scan(&c.num)
	if errors.Is(err, sql.ErrNoRows) {
		return findIn(ctx, tx, owner, id) // another replica created it first
	}
	c.owner = owner
	return c, err
}

// Conversation returns the list entry of one conversation; ok is false if the owner has none
// with that id.
func (d *DB) Conversation(ctx context.Context, owner, id string) (c schemas.Conversation, ok bool, err error) {
	c, _, err = scanEntry(d.db.Read.QueryRowContext(ctx, `SELECT `+entryColumns+`, '' FROM conversations c `+whose, id, owner))
	ok, err = d.db.Found("read conversation", err)
	return c, ok, err
}

// entryColumns are those of a list, except the message that a search found.
const entryColumns = `num, id, title, messages, created_at, updated_at, assistant,
	EXISTS (SELECT 1 FROM turns t WHERE t.conversation = num AND t.status = 'running')`

func scanEntry(row interface{ Scan(to ...any) error }) (c schemas.Conversation, num int64, err error) {
	var created, updated int64
	err = row.Scan(&num, &c.ID, &c.Title, &c.Messages, &created, &updated, &c.Assistant, &c.Running, &c.Snippet)
	c.CreatedAt, c.UpdatedAt = database.TimeAt(created), database.TimeAt(updated)
	return c, num, err
}

// Rename sets a person's title, which is final.
func (d *DB) Rename(ctx context.Context, owner, id, title string) error {
	return d.retitle(ctx, owner, id, title, titleOfPerson)
}

// SuggestTitle sets a model's title, unless there is one of a model or of a person.
func (d *DB) SuggestTitle(ctx context.Context, owner, id, title string) error {
	return d.retitle(ctx, owner, id, title, titleOfModel)
}

// Origins of a title; 0 is the first question. A title is never replaced by one of a lower
// origin.
const titleOfModel, titleOfPerson = 1, 2

func (d *DB) retitle(ctx context.Context, owner, id, title string, from int) error {
	return d.db.Write(ctx, "rename conversation", func(sqlTx *sql.Tx) error {
		tx := turnTx{sqlTx, d.stmts.saving}
		c, err := found(tx.stmt(ctx, findConversation+d.db.SQL.ForUpdate).QueryRowContext(ctx, id, owner), id)
		if err != nil {
			return err
		}
		_, err = tx.stmt(ctx, putTitle).ExecContext(ctx, d.db.SQL.Text(title), c.num, from)
		return err
	})
}

// List returns a page of conversations, the last changed first.
func (d *DB) List(ctx context.Context, req ListRequest) (ConversationPage, error) {
	const op = "list conversations"
	page := ConversationPage{Conversations: []schemas.Conversation{}}
	query, args, err := d.listQuery(req)
	if err != nil {
		return page, d.db.Fault(op, err)
	}
	rows, err := d.db.Read.QueryContext(ctx, query, args...)
	if err != nil {
		return page, d.db.Fault(op, err)
	}
	defer rows.Close()
	var num int64
	for rows.Next() {
		if n := len(page.Conversations); n == req.Limit {
			page.Next = fmt.Sprintf("%d-%d", database.Millis(page.Conversations[n-1].UpdatedAt), num)
			break
		}
		var c schemas.Conversation
		if c, num, err = scanEntry(rows); err != nil {
			return page, d.db.Fault(op, err)
		}
		c.Snippet = around(c.Snippet, req.Query)
		page.Conversations = append(page.Conversations, c)
	}
	return page, d.db.Fault(op, rows.Err())
}

// listQuery asks for one row more than the page holds, to detect a next page.
func (d *DB) listQuery(req ListRequest) (query string, args []any, err error) {
	where := []string{"true"}
	arg := func(v any) string {
		args = append(args, v)
		return fmt.Sprintf("$%d", len(args))
	}
	if req.Owner != "" {
		where = append(where, "owner = "+arg(req.Owner))
	}
	if req.After != "" {
		var updated, num int64
		if n, _ := fmt.Sscanf(req.After, "%d-%d", &updated, &num); n != 2 {
			return "", nil, fmt.Errorf("%w: unknown position %q, use the one of the page before", ErrInvalid, req.After)
		}
		where = append(where, "(updated_at, num) < ("+arg(updated)+", "+arg(num)+")")
	}
	found := "''"
	if req.Query != "" {
		escaped := strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(d.db.SQL.Text(req.Query))
		matches := " " + d.db.SQL.Like(arg("%"+escaped+"%"))
		newest := ` FROM messages WHERE conversation = num AND content` + matches + ` ORDER BY seq DESC LIMIT 1)`
		// PostgreSQL may answer EXISTS by reading the messages of all owners first.
		where = append(where, `(title`+matches+` OR (SELECT seq`+newest+` IS NOT NULL)`)
		found = `COALESCE((SELECT content` + newest + `, '')`
	}
	query = `SELECT ` + entryColumns + `, ` + found + ` FROM conversations
		WHERE ` + strings.Join(where, " AND ") + ` ORDER BY updated_at DESC, num DESC LIMIT ` + arg(req.Limit+1)
	return query, args, nil
}
