package database

import "strings"

// A Dialect is the SQL that differs between the two databases.
type Dialect struct {
	// ForUpdate locks a row that was read against other writers until the transaction ends.
	// SQLite has one writer anyway.
	ForUpdate string
	// Like compares with a pattern, and ignores the case of ASCII letters only.
	Like func(pattern string) string
	// merged returns the union of two JSON lists.
	merged func(one, other string) string
	// now is $1, or the database's own clock in milliseconds if that is NULL.
	now string
	// each is the function that returns the values of a JSON list as rows.
	each string
	// Text makes a text storable.
	Text func(string) string
}

func sqliteDialect() Dialect {
	return Dialect{
		Like: func(pattern string) string { return "LIKE " + pattern + ` ESCAPE '\'` },
		merged: func(one, other string) string {
			return `(SELECT json_group_array(value) FROM (SELECT value FROM json_each(` + one + `) UNION SELECT value FROM json_each(` + other + `)))`
		},
		now:  "$1",
		each: "json_each",
		Text: func(s string) string { return s },
	}
}

func postgresDialect() Dialect {
	return Dialect{
		ForUpdate: " FOR UPDATE",
		Like:      func(pattern string) string { return "ILIKE " + pattern + ` COLLATE "C" ESCAPE '\'` },
		merged: func(one, other string) string {
			return `(SELECT coalesce(json_agg(value), '[]')::text FROM (SELECT json_array_elements_text((` + one +
				`)::json) AS value UNION SELECT json_array_elements_text((` + other + `)::json)) AS lists)`
		},
		each: "json_array_elements_text",
		now:  "coalesce($1::bigint, (extract(epoch FROM clock_timestamp()) * 1000)::bigint)",
		Text: postgresText,
	}
}

// Say replaces MERGED_SERVERS (with $3), MERGED_ORIGINS, NOW() and EACH in a statement by the dialect's
// SQL.
func (d Dialect) Say(query string) string {
	return strings.NewReplacer("MERGED_SERVERS", d.merged("conversations.servers_read", "$3"), "MERGED_ORIGINS", d.merged("answers.origins", "excluded.origins"), "NOW()", d.now, "EACH(", d.each+"(").Replace(query)
}

// postgresText replaces what a text in PostgreSQL cannot hold: NUL, and invalid UTF-8.
func postgresText(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}
