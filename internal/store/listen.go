package store

import (
	"context"
	"crypto/rand"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	// maxPayload is below the 8,000 bytes that a notification may hold.
	maxPayload = 7000
	// probeEvery is how often a listener notifies itself, probeFor how long that may take.
	probeEvery, probeFor = 15 * time.Second, 3 * time.Second
	// probeMark is the prefix of such a notification.
	probeMark = "probe "
)

// channel returns the name of the channel on which the replicas of one schema notify one
// another.
func channel(ctx context.Context, conn *pgx.Conn) (string, error) {
	var name string
	err := conn.QueryRow(ctx, `SELECT 'molar_' || md5(current_schema())`).Scan(&name)
	return name, err
}

// Wake notifies the others of news of these turns. A lost notification costs time only.
func (s *Live) Wake(ctx context.Context, ids ...string) error {
	var payloads []string
	for len(ids) > 0 {
		n, size := 0, 0
		for n < len(ids) && (n == 0 || size+len(ids[n]) < maxPayload) {
			size += len(ids[n]) + 1
			n++
		}
		payloads = append(payloads, strings.Join(ids[:n], " "))
		ids = ids[n:]
	}
	return s.notify(ctx, payloads...)
}

// notify sends all of them in one transaction: each takes a lock on the whole server.
func (s *Live) notify(ctx context.Context, payloads ...string) error {
	_, err := s.db.Relaxed.ExecContext(ctx, `SELECT pg_notify('molar_' || md5(current_schema()), p) FROM unnest($1::text[]) AS p`, payloads)
	return s.db.Fault("wake the other replicas", err)
}

// A listener receives the notifications of the others.
type listener struct {
	woken func(ids []string)
	deaf  func(deaf bool)
}

// Listen listens on a separate connection until it breaks or ctx ends, and returns the reason.
// woken is called with ids of turns, empty if some may have been missed; deaf when
// notifications begin, or cease, to arrive. It notifies itself periodically: behind a pooler
// that gives each transaction another connection LISTEN succeeds, and nothing ever arrives.
func (s *Live) Listen(ctx context.Context, woken func(ids []string), deaf func(deaf bool)) error {
	conn, err := s.db.Connect(ctx)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	name, err := channel(ctx, conn)
	if err != nil {
		return err
	}
	if _, err := conn.Exec(ctx, "LISTEN "+name); err != nil {
		return err
	}
	for {
		mark := probeMark + rand.Text()
		if err := s.notify(ctx, mark); err != nil {
			return err
		}
		heard, err := receive(ctx, conn, listener{woken, deaf}, mark)
		if err != nil {
			return err
		}
		deaf(!heard)
	}
}

// receive passes notifications on until the next probe is due, and reports whether the mark
// arrived in time.
func receive(ctx context.Context, conn *pgx.Conn, l listener, mark string) (heard bool, err error) {
	until := time.Now().Add(probeFor)
	for {
		round, cancel := context.WithDeadline(ctx, until)
		word, err := conn.WaitForNotification(round)
		late := round.Err() != nil
		cancel()
		switch {
		case ctx.Err() != nil:
			return heard, ctx.Err()
		case late:
			return heard, nil
		case err != nil:
			return heard, err
		case word.Payload == mark:
			heard, until = true, time.Now().Add(probeEvery)
			l.deaf(false)
		case strings.HasPrefix(word.Payload, probeMark): // another replica's
		default:
			l.woken(strings.Fields(word.Payload))
		}
	}
}
