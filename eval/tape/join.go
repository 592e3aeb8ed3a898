package tape

import (
	"bytes"
	"cmp"
	"encoding/base32"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Join joins the tapes of a conversation's turns into one, and applies replace to all texts. The
// header and the tool lists are those of the last one.
func Join(caseID string, turns []*Tape, replace func(string) string) ([]byte, error) {
	last := turns[len(turns)-1]
	j := newJoiner(last, replace)
	j.header.Case = caseID
	j.handshakes(last)
	for i, t := range turns {
		j.add(t, func(int) int { return i + 1 })
	}
	return j.bytes()
}

// Tidy writes a tape anew, so that two recordings of the same conversation differ in little but the
// header: the handshakes first, by server; each model call in one piece, with a chunk for each event; and
// in place of what is random or counted over the whole process (ids of requests and calls, the marks
// around data), numbers in the order of the tape. What a replay does not compare of the host's requests to servers is left out.
func Tidy(name string, data []byte) ([]byte, error) {
	t, err := Read(name, data)
	if err != nil {
		return nil, err
	}
	j := newJoiner(t, func(s string) string { return s })
	j.handshakes(t)
	j.add(t, func(turn int) int { return turn })
	return j.bytes()
}

// A joiner writes the records of tapes one after the other.
type joiner struct {
	header   Header
	records  []*Record
	replace  func(string) string
	provider string
	seq      int
	rpc      map[string]int // the last id of a request, by server
	err      error
}

func newJoiner(t *Tape, replace func(string) string) *joiner {
	return &joiner{header: t.Header, replace: replace, provider: t.Header.Speaks(), rpc: make(map[string]int)}
}

func (j *joiner) bytes() ([]byte, error) {
	var b bytes.Buffer
	w := newWriter(&b, NewRedactor(), j.header)
	number(j.records)
	for _, r := range j.records {
		w.Write(r)
	}
	return b.Bytes(), errors.Join(j.err, w.Err())
}

// handshakes adds what servers were asked outside of turns.
func (j *joiner) handshakes(t *Tape) {
	outside := slices.DeleteFunc(slices.Clone(t.frames), func(f *frames) bool { return f.request.Turn != 0 })
	slices.SortStableFunc(outside, func(a, b *frames) int { return cmp.Compare(a.request.Server, b.request.Server) })
	for _, f := range outside {
		j.frames(f, 0)
	}
}

// add adds all other records of a tape.
func (j *joiner) add(t *Tape, turn func(int) int) {
	var round []*frames // parallel calls
	byRequest := make(map[*Record]*frames)
	for _, f := range t.frames {
		byRequest[f.request] = f
	}
	for _, r := range t.Records {
		in := r.Turn
		if in > 0 {
			in = turn(in)
		}
		if r.Type == TypeMCP {
			if f := byRequest[r]; f != nil && in > 0 {
				round = append(round, f)
			}
			continue
		}
		slices.SortStableFunc(round, func(a, b *frames) int { return cmp.Compare(a.request.Slot, b.request.Slot) })
		for _, f := range round {
			j.frames(f, turn(f.request.Turn))
		}
		round = nil
		switch r.Type {
		case TypeModelRequest:
			j.exchange(t.exchanges[r.Seq], in)
		case TypeModelChunk, TypeModelEnd: // with their request
		default:
			j.record(*r, in)
		}
	}
	for _, f := range round {
		j.frames(f, turn(f.request.Turn))
	}
}

// record adds a copy of a record.
func (j *joiner) record(r Record, turn int) *Record {
	r.Turn = turn
	r.Text, r.Raw, r.Error = j.replace(r.Text), j.replace(r.Raw), j.replace(r.Error)
	r.Body, r.Content, r.Frame = j.json(r.Body), j.json(r.Content), j.json(r.Frame)
	if r.Call != nil {
		call := *r.Call
		call.Function.Arguments = j.replace(call.Function.Arguments)
		r.Call = &call
	}
	j.records = append(j.records, &r)
	return &r
}

func (j *joiner) json(raw json.RawMessage) json.RawMessage {
	if raw == nil {
		return nil
	}
	return json.RawMessage(j.replace(string(raw)))
}

// frames adds a request to a server and its answer.
func (j *joiner) frames(f *frames, turn int) {
	j.rpc[f.request.Server]++
	asked, said := f.asked, f.said
	asked.ID, said.ID = j.rpc[f.request.Server], j.rpc[f.request.Server]
	asked.Params = json.RawMessage(f.key)
	r := *f.request
	r.Frame = asked.Encode()
	j.record(r, turn)
	if f.answer != nil {
		r := *f.answer
		r.Frame = said.Encode()
		j.record(r, turn)
	}
}

// exchange adds a model call, with a chunk for each line or event.
func (j *joiner) exchange(x *exchange, turn int) {
	j.seq++
	r := j.record(*x.request, turn)
	r.Seq = j.seq
	var said, masked []byte
	for _, c := range x.chunks {
		said = append(said, c.Bytes()...)
	}
	end := regexp.MustCompile(`\n`)
	if x.end != nil && strings.HasPrefix(x.end.ContentType, eventStream) {
		end = regexp.MustCompile(`\n\r?\n`) // Gemini ends its lines with CRLF
	}
	for len(said) > 0 {
		n := len(said)
		if at := end.FindIndex(said); at != nil {
			n = at[1]
		}
		c := Record{Type: TypeModelChunk, Seq: j.seq}
		c.SetBytes(said[:n])
		masked = append(masked, j.record(c, 0).Bytes()...)
		said = said[n:]
	}
	if text := j.answerText(masked); j.replace(text) != text {
		j.err = errors.New("what is masked came in pieces") // the value is split between events
	}
	if x.end != nil {
		end := j.record(*x.end, 0)
		end.Seq, end.N = j.seq, 0
	}
}

// answerText returns the text and the call arguments of an exchange, each on a line.
func (j *joiner) answerText(said []byte) string {
	a, _, _ := ReadAnswer(j.provider, string(said)) // an unreadable answer has no text
	parts := []string{a.Text}
	for _, c := range a.Calls {
		parts = append(parts, c.Arguments)
	}
	return strings.Join(parts, "\n")
}

// number replaces what is random in the host's records, in the order of the tape: ids of calls that
// the host made up, and the marks around data and around questions of the guardrail. The id of a call that
// a result or another call names stays: a model's answer may name it too.
func number(records []*Record) {
	id := regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)
	mark := regexp.MustCompile(`data-([0-9a-f]{16})`)
	question := regexp.MustCompile(`(?:<<|\\u003c\\u003c)([A-Z2-7]{12})\b`)
	var said strings.Builder
	for _, r := range records {
		said.Write(r.Content)
		if r.Call != nil {
			said.WriteString(r.Call.Function.Arguments)
		}
	}
	names := make(map[string]string)
	var pairs []string
	name := func(old string, make func(n int) string) {
		if _, known := names[old]; !known {
			names[old] = make(len(names) + 1)
			pairs = append(pairs, old, names[old])
		}
	}
	for _, r := range records {
		switch {
		case r.Type == TypeModelRequest:
			for _, m := range mark.FindAllSubmatch(r.Body, -1) {
				name("data-"+string(m[1]), func(n int) string { return fmt.Sprintf("data-%016x", n) })
			}
			for _, m := range question.FindAllSubmatch(r.Body, -1) {
				name(string(m[1]), func(n int) string {
					return base32.StdEncoding.EncodeToString(binary.BigEndian.AppendUint64(nil, uint64(n)))[:12] //nolint:gosec // it counts
				})
			}
			r.Body = json.RawMessage(strings.NewReplacer(pairs...).Replace(string(r.Body)))
		case r.Call != nil:
			if id.MatchString(r.Call.ID) && !strings.Contains(said.String(), r.Call.ID) {
				name(r.Call.ID, func(n int) string { return fmt.Sprintf("00000000-0000-4000-8000-%012x", n) })
			}
			if to := names[r.Call.ID]; to != "" {
				r.Call.ID = to
			}
		}
	}
}
