package tape

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// Requests of a conversation repeat the system text, the tools and all earlier messages. On a tape each
// is written once: a member of a body that an earlier exchange has too is
//
//	"tools":{"as_in_exchange":2}
//
// and a list that begins like that of an earlier exchange is
//
//	"messages":[{"as_in_exchange":2,"items":3},{"role":"user","content":"And then?"}]

// A reference names the exchange that has a member of a body, or the first items of a list.
type reference struct {
	Exchange int `json:"as_in_exchange"`
	Items    int `json:"items,omitempty"`
}

// shortest is the size in bytes from which a repetition is replaced.
const shortest = 120

// A member is a member of a body, byte for byte; items are those of a list.
type member struct {
	name  string
	value json.RawMessage
	items []json.RawMessage
}

// A folder replaces what bodies repeat, and restores it. The zero value is ready.
type folder struct{ bodies map[int][]member }

// keep stores the members of an exchange's body. ok is false for a body that is not an object.
func (f *folder) keep(seq int, body json.RawMessage) (members []member, ok bool) {
	if f.bodies == nil {
		f.bodies = make(map[int][]member)
	}
	members, ok = membersOf(body)
	f.bodies[seq] = members
	return members, ok
}

// membersOf parses a compact JSON object.
func membersOf(body json.RawMessage) ([]member, bool) {
	var all []member
	err := eachOf(body, '{', func(dec *json.Decoder) error {
		name, err := dec.Token()
		if err != nil {
			return err
		}
		m := member{name: name.(string)}
		if err := dec.Decode(&m.value); err != nil {
			return err
		}
		err = eachOf(m.value, '[', func(dec *json.Decoder) error {
			var item json.RawMessage
			err := dec.Decode(&item)
			m.items = append(m.items, item)
			return err
		})
		if !errors.Is(err, errOther) && err != nil {
			return err
		}
		all = append(all, m)
		return nil
	})
	return all, err == nil && bytes.Equal(joined(all), body) // else it has spaces between its parts
}

// errOther is the error of a value of another kind.
var errOther = errors.New("a value of another kind")

// eachOf calls next for each element of an object or list.
func eachOf(value json.RawMessage, opens byte, next func(*json.Decoder) error) error {
	if len(value) == 0 || value[0] != opens {
		return errOther
	}
	dec := json.NewDecoder(bytes.NewReader(value))
	if _, err := dec.Token(); err != nil {
		return err
	}
	for dec.More() {
		if err := next(dec); err != nil {
			return err
		}
	}
	return nil
}

// joined is the reverse of [membersOf].
func joined(members []member) json.RawMessage {
	var all [][]byte
	for _, m := range members {
		all = append(all, slices.Concat(encode(m.name), []byte(":"), m.value))
	}
	return slices.Concat([]byte("{"), bytes.Join(all, []byte(",")), []byte("}"))
}

func list(items []json.RawMessage) json.RawMessage {
	all := make([][]byte, len(items))
	for i, item := range items {
		all[i] = item
	}
	return slices.Concat([]byte("["), bytes.Join(all, []byte(",")), []byte("]"))
}

// fold returns the body of an exchange with references in place of what earlier ones have.
func (f *folder) fold(seq int, body json.RawMessage) json.RawMessage {
	members, ok := f.keep(seq, body)
	if !ok {
		return body
	}
	short := slices.Clone(members)
	for i, m := range members {
		short[i].value = f.shorten(seq, m)
	}
	return joined(short)
}

// shorten returns a member's value, with a reference to the first exchange that has most of it.
func (f *folder) shorten(seq int, m member) json.RawMessage {
	best, saved := m.value, shortest
	for first := 1; first < seq; first++ {
		i := slices.IndexFunc(f.bodies[first], func(o member) bool { return o.name == m.name })
		if i < 0 {
			continue
		}
		other := f.bodies[first][i]
		if bytes.Equal(other.value, m.value) && len(m.value) > saved {
			return encode(reference{Exchange: first})
		}
		n, size := 0, 0
		for n < min(len(m.items), len(other.items)) && bytes.Equal(m.items[n], other.items[n]) {
			size += len(m.items[n])
			n++
		}
		if size > saved {
			best, saved = list(append([]json.RawMessage{encode(reference{first, n})}, m.items[n:]...)), size
		}
	}
	return best
}

// unfold restores the body of an exchange.
func (f *folder) unfold(seq int, body json.RawMessage) (json.RawMessage, error) {
	if !bytes.Contains(body, []byte(`{"as_in_exchange":`)) {
		f.keep(seq, body)
		return body, nil
	}
	members, ok := membersOf(body)
	if !ok {
		return nil, fmt.Errorf("the request of exchange %d cannot be read", seq)
	}
	for i, m := range members {
		at := m.value
		if len(m.items) > 0 {
			at = m.items[0]
		}
		var ref reference
		if !bytes.HasPrefix(at, []byte(`{"as_in_exchange":`)) || json.Unmarshal(at, &ref) != nil {
			continue
		}
		j := slices.IndexFunc(f.bodies[ref.Exchange], func(o member) bool { return o.name == m.name })
		if j < 0 || ref.Items < 0 || ref.Items > len(f.bodies[ref.Exchange][j].items) {
			return nil, fmt.Errorf("there is no exchange %d with %q, which exchange %d names", ref.Exchange, m.name, seq)
		}
		members[i].value = f.bodies[ref.Exchange][j].value
		if len(m.items) > 0 {
			members[i].value = list(slices.Concat(f.bodies[ref.Exchange][j].items[:ref.Items], m.items[1:]))
		}
	}
	body = joined(members)
	f.keep(seq, body)
	return body, nil
}
