package wire

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"
)

// waitingMessages is how many messages of a client are buffered.
const waitingMessages = 8

// A Socket configures how a WebSocket is served.
type Socket struct {
	// MaxMessage is the maximum size of a client's message in bytes. A larger one ends the
	// connection.
	MaxMessage int64
	// Answer answers one message. ctx ends when the client has disconnected.
	Answer func(ctx context.Context, message []byte, send func([]byte) error)
	// MaxAge is the age after which the connection is closed between two messages. Late is sent
	// before.
	MaxAge time.Duration
	Late   []byte
	// Closing, when it is closed, ends the connection after the current message is answered.
	Closing <-chan struct{}
}

// IsUpgrade reports whether r asks for a WebSocket.
func IsUpgrade(r *http.Request) bool {
	return strings.EqualFold(r.Header.Get("Upgrade"), "websocket")
}

// Serve upgrades the request to a WebSocket and answers its messages, one after the other, until
// the connection ends. The caller must have checked Host and Origin.
func (s Socket) Serve(w http.ResponseWriter, r *http.Request) {
	conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{InsecureSkipVerify: true})
	if err != nil {
		return // the request was already answered
	}
	conn.SetReadLimit(s.MaxMessage)
	ctx, gone := context.WithCancel(r.Context())
	messages := make(chan []byte, waitingMessages)
	var reader sync.WaitGroup
	reader.Go(func() {
		defer gone()
		for {
			kind, data, err := conn.Read(ctx)
			if err != nil {
				return
			}
			if kind != websocket.MessageText {
				_ = conn.Close(websocket.StatusUnsupportedData, "messages are JSON as text")
				return
			}
			select {
			case messages <- data:
			case <-ctx.Done():
				return
			}
		}
	})
	s.answer(ctx, conn, messages)
	gone()
	reader.Wait()
	_ = conn.CloseNow() // a no-op after a normal close
}

// answer answers messages until the connection ends.
func (s Socket) answer(ctx context.Context, conn *websocket.Conn, messages <-chan []byte) {
	send := func(data []byte) error {
		ctx, cancel := context.WithTimeout(ctx, WriteLimit)
		defer cancel()
		return conn.Write(ctx, websocket.MessageText, data)
	}
	late := time.NewTimer(s.MaxAge)
	defer late.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-late.C:
			_ = send(s.Late) // the error means that the client has disconnected
			_ = conn.Close(websocket.StatusPolicyViolation, "open for too long")
			return
		case <-s.Closing:
			_ = conn.Close(websocket.StatusGoingAway, "the server is shutting down")
			return
		case message := <-messages:
			s.Answer(ctx, message, send)
		}
	}
}
