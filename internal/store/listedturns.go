package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"molar/internal/store/database"
	"molar/schemas"
)

// Listed is what lists of turns show of a trace.
type Listed struct {
	Outcome   schemas.Outcome
	Assistant string
	// Question is its beginning; empty for a refused turn.
	Question string
	// Tools are those that were called.
	Tools []string
	// Reason is why the guardrail refused the question.
	Reason string
}

// listedColumns returns the values of the columns for lists.
func (s *State) listedColumns(l Listed) []any {
	tools := "[]"
	if len(l.Tools) > 0 {
		data, _ := json.Marshal(l.Tools) //nolint:errchkjson // strings always encode
		tools = string(data)
	}
	return []any{string(l.Outcome), s.db.SQL.Text(l.Assistant), s.db.SQL.Text(l.Question), s.db.SQL.Text(tools), s.db.SQL.Text(l.Reason)}
}

// ListTurns returns the turns that match a filter, newest first, and the cursor of the next page,
// which is empty on the last page. A mark of a reviewer comes before that of the person.
func (s *State) ListTurns(ctx context.Context, want schemas.TurnFilter) (turns []schemas.ListedTurn, next string, err error) {
	at, id, err := readCursor(want.After)
	if err != nil {
		return nil, "", err
	}
	outcomes := ""
	if len(want.Outcomes) > 0 {
		outcomes = fmt.Sprint(" ", strings.Join(textsOf(want.Outcomes), " "), " ")
	}
	among, names := oneOf("t.assistant", want.Assistants, 9)
	turns, err = database.List(ctx, s.db.Read, scanListed, `SELECT t.turn_id, t.owner, t.conversation_id, t.created_at, t.assistant, t.outcome, t.question, t.tools, t.reason,
			coalesce(f.mark, ''), coalesce(f.note, ''), coalesce(r.mark, ''), coalesce(r.note, ''),
			coalesce((SELECT max(m.made_at) FROM made_files m WHERE m.turn_id = t.turn_id AND m.kind = '`+schemas.MadeCorrection+`'), 0)
		FROM traces t LEFT JOIN feedback f ON f.turn_id = t.turn_id LEFT JOIN reviews r ON r.turn_id = t.turn_id
		WHERE ($1 = '' OR t.owner = $1) AND ($2 = '' OR $2 LIKE '% ' || t.outcome || ' %') AND ($3 = '' OR t.assistant = $3)
			AND ($4 = '' OR f.mark = $4 OR r.mark = $4 OR $4 = 'any' AND (f.mark IS NOT NULL OR r.mark IS NOT NULL))
			AND t.created_at >= $5 AND (t.created_at < $6 OR t.created_at = $6 AND t.turn_id < $7)`+among+`
		ORDER BY t.created_at DESC, t.turn_id DESC LIMIT $8`,
		append([]any{want.Owner, outcomes, s.db.SQL.Text(want.Assistant), want.Marked, database.Millis(want.Since), at, id, want.Limit + 1}, names...)...)
	if err != nil {
		return nil, "", s.db.Fault("list turns", err)
	}
	if len(turns) > want.Limit {
		turns = turns[:want.Limit]
		last := turns[want.Limit-1]
		next = fmt.Sprintf("%d.%s", database.Millis(last.At), last.ID)
	}
	return turns, next, nil
}

// oneOf returns the condition that a column has one of some values, with its arguments, the first of which
// has a number. Nil values set no condition, and an empty list is never met.
func oneOf[T ~string](column string, values []T, first int) (condition string, args []any) {
	if values == nil {
		return "", nil
	}
	places := []string{"NULL"}
	for i, v := range values {
		places, args = append(places, fmt.Sprintf("$%d", first+i)), append(args, string(v))
	}
	return " AND " + column + " IN (" + strings.Join(places, ", ") + ")", args
}

func scanListed(row *sql.Rows) (t schemas.ListedTurn, err error) {
	var at, corrected int64
	var question, tools, mark, note, reviewed, remark string
	err = row.Scan(&t.ID, &t.Owner, &t.ConversationID, &at, &t.Assistant, &t.Outcome, &question, &tools, &t.Reason, &mark, &note, &reviewed, &remark, &corrected)
	if err != nil {
		return t, err
	}
	t.At, t.Tools = database.TimeAt(at), []string{}
	if corrected > 0 {
		t.Corrected = database.TimeAt(corrected)
	}
	if question != "" {
		t.Question = &question
	}
	if tools != "" {
		if err := json.Unmarshal([]byte(tools), &t.Tools); err != nil {
			return t, fmt.Errorf("the tools of turn %q: %w", t.ID, err)
		}
	}
	switch {
	case reviewed != "":
		t.Mark, t.Note, t.MarkedBy = reviewed, remark, schemas.MarkedByReviewer
	case mark != "":
		t.Mark, t.Note, t.MarkedBy = mark, note, schemas.MarkedByPerson
	}
	return t, nil
}

// readCursor returns the time and id before which a page begins.
func readCursor(cursor string) (at int64, id string, err error) {
	if cursor == "" {
		return 1 << 62, "", nil
	}
	millis, id, ok := strings.Cut(cursor, ".")
	at, err = strconv.ParseInt(millis, 10, 64)
	if !ok || err != nil {
		return 0, "", schemas.CursorError(cursor)
	}
	return at, id, nil
}

// textsOf returns outcomes as texts.
func textsOf(outcomes []schemas.Outcome) []string {
	texts := make([]string, len(outcomes))
	for i, o := range outcomes {
		texts[i] = string(o)
	}
	return texts
}
