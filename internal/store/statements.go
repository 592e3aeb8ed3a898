package store

import (
	"context"
	"database/sql"
	"errors"
	"slices"

	"molar/internal/store/database"
)

// The statements of a turn and of its summary, which every request runs.
const (
	// An empty owner sees all; of equal ids the one without an owner comes first.
	whose = `WHERE c.id = $1 AND ($2 = '' OR c.owner = $2) ORDER BY c.owner LIMIT 1`

	findConversation = `SELECT c.num, c.owner, c.summary, c.covers, c.last_seq, c.head, c.tip, c.linear, c.messages FROM conversations c ` + whose

	// Everything that a turn on the newest branch needs, except the messages.
	openConversation = `SELECT c.num, c.summary, c.covers, c.servers_read, c.head, c.tip, c.linear, c.assistant,
			coalesce(t.subject, ''), coalesce(k.seq, 0), coalesce(k.text, '')
		FROM conversations c LEFT JOIN turns t ON t.turn_id = c.tip
		LEFT JOIN compactions k ON k.conversation = c.num AND k.seq = t.compaction_seq ` + whose

	messageColumns = `seq, role, content, timestamp, turn_id, status, sources, calls, parent, parent_turn, assistant, piece, condensed`

	// The seqs of a branch are in order, and without gaps if there is no other branch.
	messagesDown = `SELECT ` + messageColumns + ` FROM messages WHERE conversation = $1 AND seq > $2 AND seq <= $3 ORDER BY seq DESC`

	// The newest messages alone, in one read: the most frequent one.
	recentMessages = `SELECT m.role, m.content FROM conversations c
		JOIN messages m ON m.conversation = c.num AND m.seq > c.last_seq - $3 AND m.status <> 'running'
		WHERE c.num = (SELECT num FROM conversations c ` + whose + `) AND c.linear = 1
		ORDER BY m.seq`

	// One statement takes the lease, unless it is held or has a turn under it. It belongs to
	// the owner of the conversation, if that exists, and its fence goes up by one.
	takeLease = `INSERT INTO leases (id, owner, token, fence, expires, parent)
		VALUES ($2, coalesce((SELECT owner FROM conversations
			WHERE id = $2 AND ($3 = '' OR owner = $3) ORDER BY owner LIMIT 1), $3), $4, 1, NOW() + $5, $6)
		ON CONFLICT (id, owner) DO UPDATE SET
			token = excluded.token, fence = leases.fence + 1, expires = excluded.expires, parent = excluded.parent
			WHERE leases.expires <= NOW() AND leases.turn_id = ''
		RETURNING owner, fence, expires`

	// A released lease stays for its fence, as long as its conversation exists.
	endLease = `UPDATE leases SET token = '', expires = 0, turn_id = '' WHERE id = $1 AND token = $2 AND fence = $3
		RETURNING owner, parent`

	dropLease = `DELETE FROM leases WHERE id = $1 AND expires = 0 AND NOT EXISTS (
		SELECT 1 FROM conversations c WHERE c.id = leases.id AND c.owner = leases.owner)`

	// Creates the conversation of a turn, or grows it by two messages after the one that $9
	// names, or after its head.
	growByTurn = `INSERT INTO conversations
			(owner, id, servers_read, title, language, assistant, messages, last_seq, head, tip, created_at, updated_at, later, behind)
		VALUES ($1, $2, $3, $4, $5, $6, 2, 2, 2, $7, $8, $8, CAST($10 AS BIGINT), CAST($11 AS BIGINT))
		ON CONFLICT (id, owner) DO UPDATE SET
			servers_read = CASE WHEN $3 IN ('[]', conversations.servers_read) THEN conversations.servers_read ELSE MERGED_SERVERS END,
			behind = conversations.behind + CASE WHEN excluded.behind = 1 THEN conversations.later + 1 ELSE 0 END,
			later = CASE WHEN excluded.behind = 1 THEN 0 ELSE conversations.later + excluded.later END,
			title = CASE WHEN conversations.title = '' THEN excluded.title ELSE conversations.title END,
			language = CASE WHEN excluded.language = '' THEN conversations.language ELSE excluded.language END,
			assistant = CASE WHEN excluded.assistant = '' THEN conversations.assistant ELSE excluded.assistant END,
			messages = conversations.messages + 2, last_seq = conversations.last_seq + 2,
			head_before = coalesce(CAST($9 AS BIGINT), conversations.head), tip_before = conversations.tip,
			linear = CASE WHEN CAST($9 AS BIGINT) <> conversations.head THEN 0 ELSE conversations.linear END,
			head = conversations.last_seq + 2, tip = excluded.tip, updated_at = excluded.updated_at
		RETURNING num, last_seq, head_before, tip_before`

	insertTurnMessages = `INSERT INTO messages
			(conversation, seq, role, content, timestamp, turn_id, status, parent, parent_turn, sources, calls, assistant)
		VALUES ($1, CAST($2 AS BIGINT), 'user', $3, CAST($4 AS BIGINT), $5, '', $6, $7, '', '', ''),
			($1, CAST($2 AS BIGINT) + 1, 'assistant', $8, CAST($9 AS BIGINT), $5, $10, CAST($2 AS BIGINT), '', $11, $12, $13)`

	// Fields that the turn does not set are as in the turn before, $5.
	insertTurn = `INSERT INTO turns (turn_id, conversation, key, user_seq, answer_seq, saved_at, status, subject, compaction_seq)
		SELECT $1, CAST($2 AS BIGINT), $3, CAST($4 AS BIGINT), CAST($4 AS BIGINT) + 1, CAST($6 AS BIGINT), $7,
			CASE WHEN $8 = '' THEN coalesce(p.subject, '') ELSE $8 END, coalesce(CAST($9 AS BIGINT), p.compaction_seq, 0)
		FROM (SELECT 1) AS one LEFT JOIN turns p ON p.turn_id = $5`

	turnColumns = `SELECT t.turn_id, t.saved_at, t.status, c.tip, t.conversation, t.user_seq, t.answer_seq, c.id, c.owner
		FROM turns t JOIN conversations c ON c.num = t.conversation `

	findTurn = turnColumns + `WHERE t.turn_id = $1`

	// A key may be the id of a turn that waited for its client's tools and continues. Of several,
	// an interrupted one is replaced by a finished one.
	findTurnByKey = turnColumns + `WHERE c.id = $1 AND c.owner = $2 AND (t.key = $3 OR t.turn_id = $3 AND (t.saved_at = 0 OR t.status = 'interrupted'))
		ORDER BY t.status, t.saved_at DESC LIMIT 1`

	finishConversation = `UPDATE conversations SET
			servers_read = CASE WHEN $3 IN ('[]', servers_read) THEN servers_read ELSE MERGED_SERVERS END,
			language = CASE WHEN $4 = '' THEN language ELSE $4 END,
			behind = behind + CASE WHEN CAST($6 AS BIGINT) = 1 THEN later + 1 ELSE 0 END,
			later = CASE WHEN CAST($6 AS BIGINT) = 1 THEN 0 ELSE later + CAST($5 AS BIGINT) END, updated_at = $2
		WHERE num = $1`

	finishTurn = `UPDATE turns SET key = $2, status = $3, subject = CASE WHEN $4 = '' THEN subject ELSE $4 END,
			compaction_seq = coalesce(CAST($5 AS BIGINT), compaction_seq), saved_at = $6
		WHERE turn_id = $1 AND saved_at = 0`

	// Whether a turn has lost its process, and whether a claim has anything to do. $4 asks for titles.
	claimable = `SELECT EXISTS (` + orphans + `),
		EXISTS (SELECT 1 FROM conversations WHERE behind > 0 AND behind >= CAST($2 AS BIGINT) AND claimed_until <= $3) OR
		CAST($4 AS BIGINT) = 1 AND EXISTS (SELECT 1 FROM conversations WHERE later > 0 AND titled = 0 AND claimed_until <= $3)`

	// SQLite would plan the statement anew each time if the limit was a bare parameter.
	claimWork = `UPDATE conversations SET claimed_until = $1 WHERE num IN (
			SELECT num FROM conversations WHERE (behind > 0 AND behind >= CAST($4 AS BIGINT) OR CAST($5 AS BIGINT) = 1 AND later > 0 AND titled = 0) AND claimed_until <= $2
			ORDER BY claimed_until, updated_at LIMIT CAST($3 AS BIGINT)) AND claimed_until <= $2
		RETURNING num, owner, id, language, titled = 0, behind = 0`

	// The newest answer without a summary.
	pendingAnswer = `SELECT m.seq FROM messages m JOIN turns t ON t.turn_id = m.turn_id AND t.answer_seq = m.seq
		WHERE m.conversation = $1 AND m.piece IS NULL AND t.status = '' ORDER BY m.seq DESC LIMIT 1`

	// The nearest text that covers all before it, and the pieces after that.
	piecesUp = `WITH RECURSIVE path(seq, parent, piece, condensed) AS (
			SELECT seq, parent, piece, condensed FROM messages WHERE conversation = $1 AND seq = $2
			UNION ALL
			SELECT m.seq, m.parent, m.piece, m.condensed
				FROM path JOIN messages m ON m.conversation = $1 AND m.seq = path.parent WHERE path.condensed IS NULL)
		SELECT seq, coalesce(condensed, piece) FROM path WHERE piece IS NOT NULL OR condensed IS NOT NULL ORDER BY seq`

	addPiece = `UPDATE messages SET piece = $3, condensed = CASE WHEN $4 = '' THEN condensed ELSE $4 END
		WHERE conversation = $1 AND seq = $2 AND role = 'assistant' AND status = '' AND piece IS NULL
		RETURNING turn_id`

	putSummary = `UPDATE conversations SET summary = $2, covers = $3, summary_updated_at = $4, claimed_until = 0,
		behind = behind - CAST($5 AS BIGINT) WHERE num = $1`

	putTitle = `UPDATE conversations SET title = $1, titled = $3,
		claimed_until = CASE WHEN behind = 0 THEN 0 ELSE claimed_until END WHERE num = $2 AND (titled = 0 OR $3 = 2)`

	finishAnswer = `UPDATE messages SET content = $3, timestamp = $4, status = $5, sources = $6,
			calls = CASE WHEN $5 <> '' AND $7 = '' THEN calls ELSE $7 END,
			assistant = CASE WHEN $8 = '' THEN assistant ELSE $8 END
		WHERE conversation = $1 AND seq = $2`
)

// prepared are statements by their text, compiled once on the pool that runs them.
type prepared map[string]*sql.Stmt

// QueryContext runs one of the statements.
func (p prepared) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	return p[query].QueryContext(ctx, args...)
}

// statements are the statements of a turn and of its summary.
type statements struct {
	reading prepared
	// recording is on the relaxed pool, saving on the durable one: the same on SQLite.
	recording, saving prepared
}

// writing returns the statements for a durable transaction, or for a relaxed one.
func (s *statements) writing(durable bool) prepared {
	if durable {
		return s.saving
	}
	return s.recording
}

func (s *statements) prepare(ctx context.Context, db *database.DB) error {
	reads := []string{findConversation, openConversation, messagesDown, recentMessages, pathDown, claimable, pendingAnswer, piecesUp}
	writes := []string{
		takeLease, endLease, dropLease, findTurn, findTurnByKey, growByTurn, insertTurnMessages, insertTurn,
		finishConversation, finishTurn, finishAnswer, beginJournal, growJournal, insertItems, insertRound, dropJournal,
		claimWork, rememberAnswer,
	}
	durable := append(slices.Clone(writes), findConversation+db.SQL.ForUpdate, piecesUp, addPiece, putSummary, putTitle)
	s.reading, s.saving = prepared{}, prepared{}
	err := errors.Join(s.reading.add(ctx, db, db.Read, reads), s.saving.add(ctx, db, db.Durable, durable))
	if s.recording = s.saving; db.Relaxed != db.Durable {
		s.recording = prepared{}
		err = errors.Join(err, s.recording.add(ctx, db, db.Relaxed, writes))
	}
	return err
}

func (p prepared) add(ctx context.Context, db *database.DB, pool *sql.DB, queries []string) error {
	for _, query := range queries {
		stmt, err := pool.PrepareContext(ctx, db.SQL.Say(query))
		if err != nil {
			return err
		}
		p[query] = stmt
	}
	return nil
}

func (s *statements) close() error {
	var errs []error
	for _, some := range []prepared{s.reading, s.recording, s.saving} {
		for _, stmt := range some {
			errs = append(errs, stmt.Close())
		}
	}
	return errors.Join(errs...)
}

// A turnTx is a transaction that writes turns, with the statements compiled for its pool.
type turnTx struct {
	*sql.Tx
	stmts prepared
}

func (tx turnTx) stmt(ctx context.Context, query string) *sql.Stmt {
	return tx.StmtContext(ctx, tx.stmts[query])
}

// QueryContext runs one of the statements.
func (tx turnTx) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	return tx.stmt(ctx, query).QueryContext(ctx, args...)
}
