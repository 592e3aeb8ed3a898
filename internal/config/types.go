package config

// The types of values that a file writes otherwise than Go holds them, and the fault that
// Load reports.
type (
	// A Map keeps the order of the file.
	Map[V any] = DecodedMap[V]
	// An Entry is one key of a Map and its value.
	Entry[V any] = DecodedEntry[V]
)
