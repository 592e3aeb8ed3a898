package tape

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"

	"molar/eval/match"
)

// What came from outside, the frames of servers and the answers of models, has a hash on the tape.
// The host does not read all of it, but any change of it is drift.

// A seal is the hash of a model's answer, however it is split into chunks.
type seal struct{ hash.Hash }

func newSeal() seal { return seal{sha256.New()} }

// sum returns the hash of the answer that ends with a record.
func (s seal) sum(end *Record) string {
	_, _ = fmt.Fprintf(s, "\n%d %s %s", end.Status, end.ContentType, end.Error) // a hash takes everything
	return hex.EncodeToString(s.Sum(nil)[:6])
}

// sum returns the hash of the whole answer.
func (x *exchange) sum() string {
	s := newSeal()
	for _, c := range x.chunks {
		s.Write(c.Bytes())
	}
	return s.sum(x.end)
}

// frameSha returns the hash of a server's frame.
func frameSha(r *Record) string {
	if r.Error != "" {
		return sha(match.CanonicalJSON(r.Frame) + "\n" + r.Error)
	}
	return sha(match.CanonicalJSON(r.Frame))
}

// sha returns the first twelve hex digits of the SHA-256 of a text.
func sha(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:6])
}
