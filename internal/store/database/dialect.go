package database

import "strings"

// A Dialect is the SQL that differs between the two databases.
type Dialect struct {
	// ForUpdate locks a row that was read against other writers until the transaction ends.
	// SQLite has one writer anyway.
	ForUpdate string
	// Like compares with a pattern, and ignores the case of ASCII letters only.
	Like func(pattern string) string
	// mergedServers is the union of two JSON lists: the stored one and $3.
	mergedServers string
	// now is $1, or the database's own clock in milliseconds if that is NULL.
	now string
	// Text makes a text storable.
	Text func(string) string
}

func sqliteDialect() Dialect {
	return Dialect{
		Like: func(pattern string) string { return "LIKE " + pattern + ` ESCAPE '\'` },
		mergedServers: `(SELECT json_group_array(value) FROM (
			SELECT value FROM json_each(conversations.servers_read) UNION
			SELECT value FROM json_each($3)))`,
		now:  "$1",
		Text: func(s string) string { return s },
	}
}

func postgresDialect() Dialect {
	return Dialect{
		ForUpdate: " FOR UPDATE",
		Like:      func(pattern string) string { return "ILIKE " + pattern + ` COLLATE "C" ESCAPE '\'` },
		mergedServers: `(SELECT coalesce(json_agg(value), '[]')::text FROM (
			SELECT json_array_elements_text(conversations.servers_read::json) AS value UNION
			SELECT json_array_elements_text($3::json)) AS servers)`,
		now:  "coalesce($1::bigint, (extract(epoch FROM clock_timestamp()) * 1000)::bigint)",
		Text: postgresText,
	}
}

// Say replaces MERGED_SERVERS and NOW() in a statement by the dialect's SQL.
func (d Dialect) Say(query string) string {
	return strings.NewReplacer("MERGED_SERVERS", d.mergedServers, "NOW()", d.now).Replace(query)
}

// postgresText replaces what a text in PostgreSQL cannot hold: NUL, and invalid UTF-8.
func postgresText(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}
