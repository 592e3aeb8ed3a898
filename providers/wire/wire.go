// Package wire holds what the adapters of model services share: one exchange over HTTP with its
// time limits, the readers of lines and events, the errors, the tools of a request, and the
// parsing of an answer's text (thoughts and calls that a model writes into it).
//
// It must not depend on any service's request or answer, and it retries nothing: package chain
// does.
package wire

import (
	"fmt"
	"net"
	"net/http"
	"time"
)

// NewClient returns a copy of the client, or a new one. It has no time limit for a whole answer,
// since streams are long, and follows no redirect, since prompts and keys must stay at the
// operator's address.
func NewClient(given *http.Client) *http.Client {
	client := http.Client{Transport: newTransport()}
	if given != nil {
		client = *given
	}
	client.Timeout = 0
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &client
}

// newTransport keeps many idle connections: the default of two for each host halves the
// throughput of parallel streams. Buffers are small, since every open stream holds a connection
// and its pieces are short; larger reads bypass them.
func newTransport() *http.Transport {
	return &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
		MaxIdleConns:        1024,
		MaxIdleConnsPerHost: 1024,
		IdleConnTimeout:     90 * time.Second,
		ReadBufferSize:      2 << 10,
		WriteBufferSize:     1 << 10,
		TLSHandshakeTimeout: 10 * time.Second,
		ForceAttemptHTTP2:   true,
	}
}

// forbidden returns the note for a call that came though none was allowed.
func forbidden(tool string) string {
	return fmt.Sprintf("a call to %q was dropped: no call is allowed here", tool)
}
