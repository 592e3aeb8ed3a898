package mcpclients

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"molar/mcpclients/lastwords"
	"molar/mcpclients/transport"
	"molar/schemas"
)

const (
	// listDebounce gathers bursts of list_changed into one refresh; listEvery is the
	// least time between two of them.
	listDebounce = 200 * time.Millisecond
	listEvery    = time.Second
	// pingEvery is how often an idle server is pinged, pingTimeout how long it has to answer,
	// maxMisses how many misses in a row mean that it is lost.
	pingEvery   = 30 * time.Second
	pingTimeout = 5 * time.Second
	maxMisses   = 2
	// lastWords is how long before its end a server's words may tell why it ended.
	lastWords = 5 * time.Second
)

// A watch is the supervisor's state while a server is ready.
type watch struct {
	*server
	conn      transport.Conn
	due       <-chan time.Time // of the next refresh
	refreshed time.Time
	attached  time.Time
	stale     bool // the last refresh failed
	pinged    chan error
	misses    int              // pings without an answer, in a row
	extraPing <-chan time.Time // of an extra ping
	work      sync.WaitGroup
}

// serve watches a ready server until it is lost or ctx ends, and closes it.
func (s *server) serve(ctx context.Context, conn transport.Conn, info serverInfo) error {
	work, cancel := context.WithCancel(ctx)
	w := &watch{server: s, conn: conn, attached: time.Now(), pinged: make(chan error, 1)}
	defer w.work.Wait()
	defer cancel()
	if info.Protocol == transport.ProtocolStateless && info.Capabilities.Tools != nil && info.Capabilities.Tools.ListChanged {
		w.work.Go(func() { s.listen(work, conn) })
	}
	var tick <-chan time.Time
	if info.transport != transport.TypeInProcess {
		ticker := time.NewTicker(pingEvery)
		defer ticker.Stop()
		tick = ticker.C
	}
	return w.follow(ctx, work, tick)
}

func (w *watch) follow(ctx, work context.Context, tick <-chan time.Time) error {
	for {
		select {
		case <-w.list:
			if w.due == nil {
				w.due = time.After(max(listDebounce, listEvery-time.Since(w.refreshed)))
			}
		case <-w.due:
			w.due, w.refreshed = nil, time.Now()
			w.refresh(ctx)
		case <-tick:
			w.check(work)
		case <-w.extraPing:
			w.extraPing = nil
			w.check(work)
		case err := <-w.pinged:
			if lost := w.handlePong(err); lost != nil {
				return w.lost(w.conn, lost)
			}
		case <-w.conn.Done():
			return w.lost(w.conn, w.conn.Err())
		case <-ctx.Done():
			w.server.conn.Store(nil)
			w.update(func(now *look) {
				now.State, now.Reason = schemas.StateStopping, w.stopReason()
			})
			_ = w.conn.Close()
			return ctx.Err()
		}
	}
}

// check pings an idle server and retries a failed refresh of its list. It skips a busy server,
// which may be unable to answer and whose calls have their own limits.
func (w *watch) check(ctx context.Context) {
	if w.stale && w.due == nil {
		w.due = time.After(0)
	}
	if w.busy() {
		w.misses = 0
		return
	}
	w.work.Go(func() {
		ctx, cancel := context.WithTimeout(ctx, pingTimeout)
		defer cancel()
		_, err := w.conn.Request(ctx, transport.MethodPing, nil)
		select {
		case w.pinged <- err:
		default: // too late to matter
		}
	})
}

// handlePong counts unanswered pings. It returns why the server is lost, nil if it is not. An error
// answer counts as an answer.
func (w *watch) handlePong(err error) error {
	switch {
	case err == nil || transport.Answered(err):
		recovered := w.warning != "" && time.Since(w.attached) >= healthyAfter
		if recovered {
			w.warning = ""
		}
		if w.misses > 0 || recovered {
			w.misses = 0
			w.settle()
		}
		return nil
	case w.busy(), errors.Is(err, context.Canceled), ended(w.conn):
		return nil
	}
	w.misses++
	if w.misses >= maxMisses {
		return fmt.Errorf("%w: the server did not answer %d pings, each within %s", transport.ErrLost, w.misses, pingTimeout)
	}
	if !errors.Is(err, context.DeadlineExceeded) {
		w.extraPing = time.After(pingTimeout) // it is probably down
	}
	w.degrade(fmt.Sprintf("the server did not answer a ping within %s: it is asked once more, then started again", pingTimeout))
	return nil
}

func (w *watch) degrade(reason string) {
	w.log.Warn("MCP server is degraded", "reason", reason)
	w.update(func(now *look) { now.State, now.Reason = schemas.StateDegraded, reason })
}

// settle makes a server ready again if nothing is wrong any more.
func (w *watch) settle() {
	if !w.stale && w.misses == 0 && w.warning == "" {
		w.update(func(now *look) { now.State, now.Reason = schemas.StateReady, "" })
	}
}

// refresh rereads the list and keeps the old one on failure.
func (w *watch) refresh(ctx context.Context) {
	info := serverInfo{Capabilities: capabilities{Tools: &toolsCapability{}}}
	tools, skipped, err := w.listTools(ctx, w.conn, info)
	if err != nil {
		w.stale = true
		w.degrade(fmt.Sprintf("reading the changed tool list went wrong, the old one is kept: %v", err))
		return
	}
	w.stale = false
	w.shelf.Put(tools)
	w.update(func(now *look) { now.Skipped = skipped })
	w.settle()
}

// lost removes a lost server's tools from the catalogue, and adds to err what the server said last.
func (s *server) lost(conn transport.Conn, err error) error {
	from := time.Now().Add(-lastWords)
	s.conn.Store(nil)
	s.shelf.Leave()
	s.update(func(now *look) {
		now.State, now.Reason = schemas.StateBackoff, err.Error()
	})
	_ = conn.Close()
	all, last := saidBy(conn, time.Time{}), saidBy(conn, from)
	s.update(func(now *look) { now.Stderr = all })
	if why, tells := lastwords.Why(last); tells {
		err = fmt.Errorf("%w; it said “%s”", err, why)
	}
	return err
}

// listen keeps open the request on which a stateless server reports changed tools. Each time it
// ends, changes may have been missed, so it rereads the list.
func (s *server) listen(ctx context.Context, conn transport.Conn) {
	params := json.RawMessage(`{"notifications":{"toolsListChanged":true}}`)
	for failures := 1; ctx.Err() == nil; failures++ {
		began := time.Now()
		_, err := conn.Request(ctx, transport.MethodListen, params)
		if _, refused := errors.AsType[*transport.RPCError](err); refused {
			return // it sends no changes
		}
		if time.Since(began) > healthyAfter {
			failures = 1
		}
		timer := time.NewTimer(jittered(failures))
		select {
		case <-timer.C:
			s.notified(transport.MethodListChanged, nil)
		case <-ctx.Done():
		}
		timer.Stop()
	}
}
