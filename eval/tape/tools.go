package tape

import (
	"bytes"
	"encoding/json"
	"fmt"

	"molar/eval/drift"
)

// Every request of a turn offers the same tools, which are most of its bytes. A tape holds
// each list once: a later request names the exchange that has it.

// shorten names the tools of a request by the first exchange that offered them.
func (w *Writer) shorten(r *Record) *Record {
	var members map[string]json.RawMessage
	if !bytes.Contains(r.Body, []byte(`"tools":[{`)) || json.Unmarshal(r.Body, &members) != nil || members["tools"] == nil {
		return r
	}
	name := drift.Sha(string(members["tools"]))
	first, known := w.offered[name]
	if !known {
		w.offered[name] = r.Seq
		return r
	}
	short := *r
	short.Body = with(members, "tools", fmt.Appendf(nil, `{"as_in_exchange":%d}`, first))
	return &short
}

// Whole puts the tools back that a request only names. of finds the request of an exchange.
func (r *Record) Whole(of func(seq int) (Record, error)) error {
	if !bytes.Contains(r.Body, []byte(`"tools":{"as_in_exchange":`)) {
		return nil
	}
	var members, other map[string]json.RawMessage
	var named struct {
		AsIn int `json:"as_in_exchange"`
	}
	if json.Unmarshal(r.Body, &members) != nil || json.Unmarshal(members["tools"], &named) != nil || named.AsIn == 0 {
		return nil
	}
	first, err := of(named.AsIn)
	if err != nil {
		return err
	}
	if json.Unmarshal(first.Body, &other) != nil || len(other["tools"]) == 0 || other["tools"][0] != '[' {
		return fmt.Errorf("exchange %d offers no tools, and exchange %d names them", named.AsIn, r.Seq)
	}
	r.Body = with(members, "tools", other["tools"])
	return nil
}

// with is an object with another member.
func with(members map[string]json.RawMessage, key string, value json.RawMessage) json.RawMessage {
	members[key] = value
	var body bytes.Buffer
	enc := json.NewEncoder(&body)
	enc.SetEscapeHTML(false) // what looks for secrets knows them by their characters
	if enc.Encode(members) != nil {
		return nil
	}
	return bytes.TrimSpace(body.Bytes())
}
