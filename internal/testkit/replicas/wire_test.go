package _test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
)

// A Protection is a guarantee across replicas, as pairs: the text of an SQL statement, and the
// replacement that disables the guarantee. The checker must find a fault once it is disabled, or the
// checker proves nothing.
type Protection []string

// Fence keeps a replica that comes back late from changing what others have taken over:
// conversations, keys, and turns that others ended.
func Fence() Protection {
	return Protection{
		"token = $2 AND fence = $3", "$2 <> '' AND $3 > 0",
		"token = $4 AND fence = $5", "$4 <> '' AND $5 > 0",
		"AND key = $2 AND turn_id = $3", "AND key = $2 AND $3 <> ''",
		"t.replica = $5 AND t.ended_at = 0", "$5 <> ''",
	}
}

// Queue makes the turns of a conversation run one after the other.
func Queue() Protection {
	return Protection{
		"WHERE leases.expires <= ", "WHERE 0 <= ",
		" AND leases.turn_id = ''", "",
		" AND turn_id IN ('', $4)", " AND $4 <> ''",
	}
}

// A Wire is a proxy between the hosts and PostgreSQL that disables a protection by changing
// statements, so that the programs need no change.
type Wire struct {
	listener net.Listener
	to       string
	words    *strings.Replacer
	tasks    sync.WaitGroup
	changed  atomic.Int64
}

// Without listens on loopback in front of a server until Close is called.
func Without(ctx context.Context, p Protection, to string) (*Wire, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	w := &Wire{listener: listener, to: to, words: strings.NewReplacer(p...)}
	w.tasks.Go(func() { w.accept(ctx) })
	return w, nil
}

// Addr returns the address of the wire.
func (w *Wire) Addr() string { return w.listener.Addr().String() }

// Changed returns the number of changed statements.
func (w *Wire) Changed() int64 { return w.changed.Load() }

// Close ends the wire, once the hosts have ended.
func (w *Wire) Close() {
	_ = w.listener.Close()
	w.tasks.Wait()
}

func (w *Wire) accept(ctx context.Context) {
	for {
		client, err := w.listener.Accept()
		if err != nil {
			return
		}
		w.tasks.Go(func() {
			defer client.Close()
			server, err := new(net.Dialer).DialContext(ctx, "tcp", w.to)
			if err != nil {
				return
			}
			defer server.Close()
			var back sync.WaitGroup
			back.Go(func() { pass(client, server) })
			_ = w.talk(server, client) // it ends with its connection
			_ = server.Close()
			back.Wait()
		})
	}
}

// talk forwards a client's messages: first those without a type, the last of which begins the
// session, then those with one.
func (w *Wire) talk(server io.Writer, client io.Reader) error {
	const begins = 3 << 16 // the version of the protocol
	for {
		body, err := readMessage(client)
		if err != nil || len(body) < 4 {
			return errors.Join(err, errShort)
		}
		if err := writeMessage(server, nil, body); err != nil {
			return err
		}
		if binary.BigEndian.Uint32(body) == begins {
			break
		}
	}
	kind := make([]byte, 1)
	for {
		if _, err := io.ReadFull(client, kind); err != nil {
			return err
		}
		body, err := readMessage(client)
		if err != nil {
			return err
		}
		if kind[0] == 'P' || kind[0] == 'Q' { // a statement
			if said := w.words.Replace(string(body)); said != string(body) {
				body = []byte(said)
				w.changed.Add(1)
			}
		}
		if err := writeMessage(server, kind, body); err != nil {
			return err
		}
	}
}

var errShort = errors.New("a message that is too short")

func readMessage(r io.Reader) ([]byte, error) {
	const most = 64 << 20
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, err
	}
	long := binary.BigEndian.Uint32(head[:])
	if long < 4 || long > most {
		return nil, fmt.Errorf("a message of %d bytes", long)
	}
	body := make([]byte, long-4)
	_, err := io.ReadFull(r, body)
	return body, err
}

func writeMessage(w io.Writer, kind, body []byte) error {
	said := binary.BigEndian.AppendUint32(append([]byte(nil), kind...), uint32(len(body)+4))
	_, err := w.Write(append(said, body...))
	return err
}
