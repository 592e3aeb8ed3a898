package httpserver

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"

	"github.com/mark3labs/mcp-go/mcp"

	"molar/mcpservers"
)

// maxRunning bounds the concurrent tool calls and streams of one client.
const maxRunning = 32

// ServeStdio serves standard MCP over lines, with the dispatcher in front of mcp-go, until in or
// ctx ends. At the end of in it still answers the calls under way. It writes only protocol to
// out.
//
// If ctx ends and in is an [io.Closer], in is closed; a reader that cannot be interrupted ends
// with its process.
func (s *Server) ServeStdio(ctx context.Context, in io.Reader, out io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	session := &lineSession{id: s.freshSession(), notices: make(chan mcp.JSONRPCNotification, 100)}
	if err := s.combined.MCP().RegisterSession(ctx, session); err != nil {
		return fmt.Errorf("serve MCP on standard input: %w", err)
	}
	defer s.combined.MCP().UnregisterSession(context.WithoutCancel(ctx), session.id)
	p := &pipe{Server: s, out: out, session: session, running: make(chan struct{}, maxRunning)}
	var background sync.WaitGroup
	defer background.Wait()
	defer cancel()
	background.Go(func() { p.forward(ctx) })

	lines, ended := make(chan line), make(chan error, 1)
	go func() { ended <- readLines(ctx, in, lines) }()
	streams, endStreams := context.WithCancel(ctx)
	defer endStreams()
	for {
		select {
		case l := <-lines:
			p.answerLine(ctx, streams, l)
		case err := <-ended:
			endStreams()
			p.calls.Wait()
			return err
		case <-ctx.Done():
			if c, ok := in.(io.Closer); ok {
				_ = c.Close()
			}
			p.calls.Wait()
			return nil
		}
	}
}

// A line is one line of input; long is set if it was cut for its length.
type line struct {
	text []byte
	long bool
}

// readLines sends the lines of in without their ends, until in or ctx ends.
func readLines(ctx context.Context, in io.Reader, to chan<- line) error {
	r := bufio.NewReaderSize(in, 64<<10)
	var l line
	for {
		part, err := r.ReadSlice('\n')
		if l.long = l.long || len(l.text)+len(part) > MaxBody; l.long {
			l.text = nil
		} else {
			l.text = append(l.text, part...)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if l.text = bytes.TrimSpace(l.text); len(l.text) > 0 || l.long {
			select {
			case to <- l:
			case <-ctx.Done():
				return nil
			}
		}
		l = line{}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read standard input: %w", err)
		}
	}
}

// A pipe is one client on standard input and output.
type pipe struct {
	*Server
	session *lineSession
	mu      sync.Mutex // serializes lines
	out     io.Writer
	calls   sync.WaitGroup
	running chan struct{}
}

// answerLine answers one line. Tool calls and streams run concurrently; other lines are answered
// in order.
func (p *pipe) answerLine(ctx, streams context.Context, l line) {
	if l.long {
		p.write(mcpservers.Fail(nil, &mcpservers.RPCError{
			Code: mcpservers.CodeInvalidRequest, Message: fmt.Sprintf("Invalid request: the line is longer than %d bytes", MaxBody),
		}))
		return
	}
	if isBatch(l.text) {
		p.write(mcpservers.Fail(nil, &mcpservers.RPCError{
			Code: mcpservers.CodeInvalidRequest, Message: "Invalid request: MCP has no batches, send one message a line",
		}))
		return
	}
	req, bad := mcpservers.Parse(l.text)
	if bad != nil {
		p.write(mcpservers.Fail(req.ID, bad))
		return
	}
	switch mcp.MCPMethod(req.Method) {
	case mcp.MethodToolsCall:
		p.beside(ctx, func() { p.reply(ctx, req, l.text) })
	case mcp.MethodSubscriptionsListen:
		p.beside(ctx, func() { p.reply(streams, req, l.text) })
	default:
		p.reply(ctx, req, l.text)
	}
}

func (p *pipe) beside(ctx context.Context, f func()) {
	select {
	case p.running <- struct{}{}:
	case <-ctx.Done():
		return
	}
	p.calls.Go(func() {
		defer func() { <-p.running }()
		f()
	})
}

func (p *pipe) reply(ctx context.Context, req mcpservers.Request, msg json.RawMessage) {
	ctx = p.combined.MCP().WithContext(ctx, p.session)
	answer := p.answer(ctx, p.combined, p.session.id, req, msg)
	if answer != nil && p.combined.Owns(req.Method) && mcp.IsModernProtocol(revisionOf(req.Params)) {
		answer = p.modernize(req.Method, answer)
	}
	p.write(answer)
}

// forward writes the notifications of the session.
func (p *pipe) forward(ctx context.Context) {
	for {
		select {
		case n := <-p.session.notices:
			if data, err := json.Marshal(n); err == nil {
				p.write(data)
			}
		case <-ctx.Done():
			return
		}
	}
}

// write sends one message. It ignores a client that no longer reads: its input ends soon.
func (p *pipe) write(msg json.RawMessage) {
	if msg == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, err := p.out.Write(append(msg, '\n')); err != nil {
		p.log.Debug("answer not written", "error", err)
	}
}

// lineSession is the only client's session on standard input.
type lineSession struct {
	id      string
	ready   atomic.Bool
	notices chan mcp.JSONRPCNotification
}

// Initialize implements server.ClientSession.
func (s *lineSession) Initialize() { s.ready.Store(true) }

// Initialized implements server.ClientSession.
func (s *lineSession) Initialized() bool { return s.ready.Load() }

// NotificationChannel implements server.ClientSession.
func (s *lineSession) NotificationChannel() chan<- mcp.JSONRPCNotification { return s.notices }

// SessionID implements server.ClientSession.
func (s *lineSession) SessionID() string { return s.id }
