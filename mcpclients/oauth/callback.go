package oauth

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"
)

// callbackPath is the path of the redirect URI.
const callbackPath = "/callback"

// A Callback is a port on this machine that receives the browser's redirect.
type Callback struct {
	listener net.Listener
	server   *http.Server
	work     sync.WaitGroup

	mu     sync.Mutex // serializes answers
	take   func(url.Values) error
	over   bool
	result chan error // outcome of the accepted answer
}

// Listen opens the port on 127.0.0.1; 0 picks a free one. Close releases it.
func Listen(ctx context.Context, port int) (*Callback, error) {
	var lc net.ListenConfig
	listener, err := lc.Listen(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return nil, fmt.Errorf("listen for the browser: %w; end the program that holds the port, or set oauth.redirect_port to another", err)
	}
	c := &Callback{listener: listener, result: make(chan error, 1)}
	c.server = &http.Server{
		Handler: http.HandlerFunc(c.answer), MaxHeaderBytes: 64 << 10,
		ReadTimeout: 10 * time.Second, WriteTimeout: 2 * callTimeout, IdleTimeout: 5 * time.Second,
	}
	return c, nil
}

// URI returns the redirect URI.
func (c *Callback) URI() string { return RedirectURI(c.listener.Addr().(*net.TCPAddr).Port) }

// RedirectURI returns the redirect URI on a port.
func RedirectURI(port int) string {
	return "http://127.0.0.1:" + strconv.Itoa(port) + callbackPath
}

// Wait passes each browser's query to take until take accepts one, by returning anything but
// [ErrState]. It returns take's result, or the cause of ctx.
func (c *Callback) Wait(ctx context.Context, take func(url.Values) error) error {
	c.mu.Lock()
	c.take = take
	c.mu.Unlock()
	c.work.Go(func() { _ = c.server.Serve(c.listener) })
	select {
	case err := <-c.result:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Close releases the port; a page being sent has 2 s.
func (c *Callback) Close() {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	if c.server.Shutdown(ctx) != nil {
		_ = c.server.Close()
	}
	_ = c.listener.Close() // if it never served
	c.work.Wait()
}

func (c *Callback) answer(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	if r.URL.Path != callbackPath || r.Method != http.MethodGet {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	text := "You are logged in. This page can be closed."
	err := errors.New("over")
	if !c.over {
		err = c.take(r.URL.Query())
	}
	switch {
	case c.over, errors.Is(err, ErrState):
		w.WriteHeader(http.StatusBadRequest)
		text = "This is no answer to a login that is under way."
	case err != nil:
		w.WriteHeader(http.StatusBadRequest)
		text = "The login did not succeed: the terminal says why. This page can be closed."
	}
	// The page shows nothing from the URL.
	_, _ = io.WriteString(w, `<!doctype html><html lang="en"><title>Molar</title><p>`+text+"</p></html>\n")
	if !c.over && !errors.Is(err, ErrState) {
		c.over = true
		c.result <- err
	}
}
