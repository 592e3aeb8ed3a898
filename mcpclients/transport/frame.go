package transport

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"

	"molar/internal/sse"
)

const (
	// maxFrame bounds a message from a server, in bytes: the longest text of a result, with its
	// escapes. maxSent bounds one to a server.
	maxFrame, maxSent = 16 << 20, 4 << 20
	// frameEnds is how many bytes of each end of a longer message are kept to find its id.
	frameEnds = 4 << 10
)

// trailingID matches an id that is the last field of the outermost object, or the last before the
// version. It cannot match deeper, where more braces would follow.
func trailingID() *regexp.Regexp {
	return regexp.MustCompile(`"id"\s*:\s*("-?\d{1,18}"|-?\d{1,18})\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$`)
}

// cutID returns the id of a response whose middle is missing.
func cutID(head, tail []byte) (json.RawMessage, bool) {
	if m := trailingID().FindSubmatch(tail); m != nil {
		return m[1], true
	}
	return leadingID(head)
}

// frames returns the limits of a server's lines and events.
func frames() sse.Config { return sse.Config{Limit: maxFrame, Keep: frameEnds} }

// cutAnswer returns the error answer for a request whose answer was too long to keep.
func cutAnswer(ends *sse.Ends) (*rpcMessage, bool) {
	id, ok := cutID(ends.Head, ends.Tail)
	if !ok {
		return nil, false
	}
	return &rpcMessage{ID: id, Error: WireError{
		Code:    CodeInternal,
		Message: fmt.Sprintf("the answer is longer than %d MiB and was dropped: ask for less", maxFrame>>20),
	}.Encode()}, true
}

// incoming reads a message, or what stands for an answer that cannot be read.
func incoming(raw []byte) (*rpcMessage, bool) {
	if m, ok := readMessage(raw); ok {
		return m, true
	}
	return unreadableAnswer(raw)
}

// unreadableAnswer returns the error answer for a request whose answer is no JSON that can be read, as
// it is broken or nested too deep.
func unreadableAnswer(line []byte) (*rpcMessage, bool) {
	if !bytes.HasPrefix(line, []byte("{")) || !bytes.Contains(line, []byte(`"jsonrpc"`)) {
		return nil, false
	}
	var message map[string]json.RawMessage
	err := json.Unmarshal(line, &message)
	if err == nil {
		return nil, false
	}
	id, ok := cutID(line[:min(len(line), frameEnds)], line[max(0, len(line)-frameEnds):])
	if !ok {
		return nil, false
	}
	return &rpcMessage{ID: id, Error: WireError{
		Code: CodeInternal, Message: fmt.Sprintf("the answer is no JSON that can be read: %v", err),
	}.Encode()}, true
}

// errUnreadable fails the only request under way after a line that was too long to keep and had
// no id.
var errUnreadable = fmt.Errorf("%w: the server wrote a line of more than %d MiB that names no request; it was taken for the answer", ErrLost, maxFrame>>20)

// leadingID reads the outermost object up to the first value that is cut.
func leadingID(head []byte) (json.RawMessage, bool) {
	dec := json.NewDecoder(bytes.NewReader(head))
	if tok, err := dec.Token(); err != nil || tok != json.Delim('{') {
		return nil, false
	}
	for {
		key, err := dec.Token()
		if err != nil || key == json.Delim('}') {
			return nil, false
		}
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil || key == "method" {
			return nil, false
		}
		if key == "id" {
			if next, err := dec.Token(); err == nil && next == "method" {
				return nil, false // a request of the server, whose ids are its own
			}
			return value, true
		}
	}
}
