package tape

import "io"

// NewWriter gives black-box tests a writer of a single tape.
func NewWriter(to io.Writer, redact *Redactor, h Header) *Writer { return newWriter(to, redact, h) }

// Tools gives black-box tests the comparison of two lists of tools.
func Tools(server string, was, now map[string]Tool) []Drift { return compareTools(server, was, now) }
