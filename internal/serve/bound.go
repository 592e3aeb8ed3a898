package serve

import (
	"log/slog"
	"net"
	"sync"
)

// reservedDescriptors is the number of file descriptors for servers, files and the database. Half
// of the others are for connections of clients, because each turn also needs one for its model.
const reservedDescriptors = 128

// sendBuffer is how much of an unread answer the system may buffer, in bytes. By default it
// lets that grow to several MiB before the turn has to wait.
const sendBuffer = 64 << 10

// A bounded listener accepts no more connections than the process can serve: the next one
// waits until another ends. Beyond the limit of descriptors nothing works, probes included.
type bounded struct {
	net.Listener
	room chan struct{}
	full func()
}

// bound limits a listener by the limit of descriptors.
func bound(listener net.Listener, log *slog.Logger) net.Listener {
	limit := descriptors()
	return boundTo(listener, max((limit-reservedDescriptors)/2, limit/4, 1), log)
}

func boundTo(listener net.Listener, most int, log *slog.Logger) net.Listener {
	return &bounded{listener, make(chan struct{}, most), sync.OnceFunc(func() {
		log.Warn("as many connections are open as the limit of descriptors lets this process serve; others wait until one ends", "most", most)
	})}
}

// Accept implements [net.Listener].
func (b *bounded) Accept() (net.Conn, error) {
	conn, err := b.Listener.Accept()
	if err != nil {
		return nil, err
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetWriteBuffer(sendBuffer) // without it, the system's default is used
	}
	select {
	case b.room <- struct{}{}:
	default:
		b.full()
		b.room <- struct{}{} // the open connections have time limits
	}
	return &boundedConn{Conn: conn, leave: sync.OnceFunc(func() { <-b.room })}, nil
}

// A boundedConn releases its place when it is closed.
type boundedConn struct {
	net.Conn
	leave func()
}

// Close implements [net.Conn].
func (c *boundedConn) Close() error {
	err := c.Conn.Close()
	c.leave()
	return err
}
