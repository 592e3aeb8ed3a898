package store

import (
	"context"
	"database/sql"
	"errors"
	"strings"
)

// The statements of a turn, which every request runs.
const (
	// An empty owner sees all; of equal ids the unowned conversation comes first.
	findConversation = `SELECT num, owner, summary, covers, servers_read, last_seq, messages FROM conversations
		WHERE id = $1 AND ($2 = '' OR owner = $2) ORDER BY owner LIMIT 1`

	messageColumns = `seq, role, content, timestamp, turn_id, status, sources, calls`

	messagesIn = `SELECT ` + messageColumns + ` FROM messages WHERE conversation = $1 AND seq > $2 AND seq <= $3 ORDER BY seq`

	// The newest messages alone, in one read: it is asked for most. The seqs of a
	// conversation have no gaps.
	recentMessages = `SELECT m.role, m.content FROM conversations c
		JOIN messages m ON m.conversation = c.num AND m.seq > c.last_seq - $3
		WHERE c.num = (SELECT num FROM conversations WHERE id = $1 AND ($2 = '' OR owner = $2) ORDER BY owner LIMIT 1)
		ORDER BY m.seq`

	// One statement takes the lease: it belongs to the owner of the conversation,
	// if there is one already, and its fence goes up by one.
	takeLease = `INSERT INTO leases (id, owner, token, fence, expires)
		VALUES ($1, coalesce((SELECT owner FROM conversations
			WHERE id = $1 AND ($2 = '' OR owner = $2) ORDER BY owner LIMIT 1), $2), $3, 1, $4)
		ON CONFLICT (id, owner) DO UPDATE SET token = excluded.token, fence = leases.fence + 1, expires = excluded.expires
		RETURNING owner, fence`

	// The conversation of a saved turn comes into being, or grows by two messages.
	// MERGED_SERVERS stands for a part of the dialect.
	growByTurn = `INSERT INTO conversations
		(owner, id, title, language, servers_read, messages, last_seq, complete_seq, created_at, updated_at)
		VALUES ($1, $2, $3, $4, $5, 2, 2, CASE WHEN $6 THEN 2 ELSE 0 END, $7, $7)
		ON CONFLICT (id, owner) DO UPDATE SET
			title = CASE WHEN conversations.title = '' THEN excluded.title ELSE conversations.title END,
			language = CASE WHEN excluded.language = '' THEN conversations.language ELSE excluded.language END,
			servers_read = MERGED_SERVERS,
			messages = conversations.messages + 2, last_seq = conversations.last_seq + 2,
			complete_seq = CASE WHEN $6 THEN conversations.last_seq + 2 ELSE conversations.complete_seq END,
			updated_at = excluded.updated_at
		RETURNING num, last_seq`

	insertMessage = `INSERT INTO messages (conversation, ` + messageColumns + `) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`

	insertTurn = `INSERT INTO turns (turn_id, conversation, key, answer_seq, saved_at) VALUES ($1, $2, $3, $4, $5)`

	findTurn = `SELECT t.turn_id, t.saved_at, c.id FROM turns t JOIN conversations c ON c.num = t.conversation
		WHERE t.turn_id = $1`

	findTurnByKey = `SELECT t.turn_id, t.saved_at, c.id FROM turns t JOIN conversations c ON c.num = t.conversation
		WHERE c.id = $1 AND c.owner = $2 AND t.key = $3`

	checkLease = `SELECT owner FROM leases WHERE id = $1 AND token = $2 AND fence = $3`
)

// statements are compiled once, on the pool that runs them.
type statements struct {
	findConversation, messagesIn, recentMessages *sql.Stmt // read
	takeLease                                    *sql.Stmt // relaxed

	// durable, in the transaction of a saved turn
	findTurn, findTurnByKey, checkLease, growByTurn, insertMessage, insertTurn *sql.Stmt

	all []*sql.Stmt
}

func (s *statements) prepare(ctx context.Context, d *DB) error {
	for _, p := range []struct {
		to    **sql.Stmt
		pool  *sql.DB
		query string
	}{
		{&s.findConversation, d.read, findConversation},
		{&s.messagesIn, d.read, messagesIn},
		{&s.recentMessages, d.read, recentMessages},
		{&s.takeLease, d.relaxed, takeLease},
		{&s.findTurn, d.durable, findTurn},
		{&s.findTurnByKey, d.durable, findTurnByKey},
		{&s.checkLease, d.durable, checkLease + d.sql.forUpdate},
		{&s.growByTurn, d.durable, strings.ReplaceAll(growByTurn, "MERGED_SERVERS", d.sql.mergedServers)},
		{&s.insertMessage, d.durable, insertMessage},
		{&s.insertTurn, d.durable, insertTurn},
	} {
		stmt, err := p.pool.PrepareContext(ctx, p.query)
		if err != nil {
			return err
		}
		*p.to = stmt
		s.all = append(s.all, stmt)
	}
	return nil
}

func (s *statements) close() error {
	var errs []error
	for _, stmt := range s.all {
		errs = append(errs, stmt.Close())
	}
	return errors.Join(errs...)
}
