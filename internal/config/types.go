package config

import "molar/internal/config/decode"

// The types of values that a file writes otherwise than Go holds them, and the fault that
// Load reports.
type (
	// A Map keeps the order of the file.
	Map[V any] = decode.Map[V]
	// An Entry is one key of a Map and its value.
	Entry[V any] = decode.Entry[V]
	// Providers is one provider name or several in the order of fallback.
	Providers = decode.OneOrMore
	// A Secret is a value that no print, log or encoding shows.
	Secret = decode.Secret
	// A Size is a number of bytes.
	Size = decode.Size
	// A KeepAlive is a duration, or a number of seconds, as it is written.
	KeepAlive = decode.KeepAlive
	// An Object is a mapping of any keys and values.
	Object = decode.Object
	// A Fault is one thing that is wrong with the settings.
	Fault = decode.Fault
)
