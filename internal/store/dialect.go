package store

import "strings"

// dialect is what the two databases say differently.
type dialect struct {
	// forUpdate keeps a row that was read from other writers until the transaction
	// ends. SQLite has one writer anyway.
	forUpdate string
	// like compares without regard to case.
	like string
	// mergedServers is the union of two JSON lists: the stored one and the new one.
	mergedServers string
	// text makes a text storable.
	text func(string) string
}

func sqliteDialect() dialect {
	return dialect{
		like: "LIKE",
		mergedServers: `(SELECT json_group_array(value) FROM (
			SELECT value FROM json_each(conversations.servers_read) UNION
			SELECT value FROM json_each(excluded.servers_read)))`,
		text: func(s string) string { return s },
	}
}

func postgresDialect() dialect {
	return dialect{
		forUpdate: " FOR UPDATE",
		like:      "ILIKE",
		mergedServers: `(SELECT coalesce(json_agg(value), '[]')::text FROM (
			SELECT json_array_elements_text(conversations.servers_read::json) AS value UNION
			SELECT json_array_elements_text(excluded.servers_read::json)) AS servers)`,
		text: postgresText,
	}
}

// postgresText replaces what a text of PostgreSQL cannot hold: NUL, and bytes that
// are no UTF-8.
func postgresText(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}
