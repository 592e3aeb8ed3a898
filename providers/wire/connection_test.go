package wire_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"

	"molar/providers"
)

// late is a timeout of the network.
type late struct{}

func (late) Error() string   { return "i/o timeout" }
func (late) Timeout() bool   { return true }
func (late) Temporary() bool { return true }

// Faults of the network in place of a connection.
func TestNoConnection(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fault error // of dialling; nil means a peer that does not speak HTTP
		kind  providers.Kind
		says  string
	}{
		"nobody listens":   {&net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}, providers.KindUnavailable, "start "},
		"an unknown host":  {&net.DNSError{Err: "no such host", Name: host, IsNotFound: true}, providers.KindUnavailable, "its host name is not known: check {address}"},
		"a slow dial":      {&net.OpError{Op: "dial", Net: "tcp", Err: late{}}, providers.KindTimeout, "the connection timed out"},
		"another fault":    {errors.New("proxy llm.internal.example says no"), providers.KindUnavailable, "proxy [server] says no"},
		"another protocol": {nil, providers.KindUnavailable, "malformed HTTP response"},
	} {
		for _, w := range wires() {
			t.Run(w.name+"/"+name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					p, err := w.at(place{host: host, client: &http.Client{Transport: &http.Transport{
						DialContext: func(context.Context, string, string) (net.Conn, error) {
							if c.fault != nil {
								return nil, c.fault
							}
							here, there := net.Pipe()
							go func() {
								if asked, err := http.ReadRequest(bufio.NewReader(there)); err == nil {
									_, _ = io.Copy(io.Discard, asked.Body)
								}
								_, _ = io.WriteString(there, "SSH-2.0-OpenSSH_9.6\r\n")
								_ = there.Close()
							}()
							return here, nil
						},
					}}})
					if err != nil {
						t.Fatal(err)
					}
					_, _, called := read(t, p, question())
					for _, err := range []error{called, p.(lister).Has(t.Context(), "m")} {
						if providers.KindOf(err) != c.kind || !strings.Contains(err.Error(), w.named(c.says)) {
							t.Errorf("kind %q: %v", providers.KindOf(err), err)
						} else {
							wantNoSecret(t, err.Error())
						}
					}
				})
			})
		}
	}
}

// lister reports which models exist.
type lister interface {
	Has(ctx context.Context, model string) error
}

// The client that adapters make for themselves trusts only certificates that the system trusts,
// and follows no redirect, so that prompts and keys go nowhere else.
func TestOwnClient(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	leads := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Connection", "close")
		if body := answerOther(r); body != nil {
			_, _ = io.Copy(w, body)
			return
		}
		asked.Add(1)
		http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
	})
	plain, secure := httptest.NewServer(leads), httptest.NewUnstartedServer(leads)
	secure.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	secure.StartTLS()
	t.Cleanup(func() { plain.Close(); secure.Close() })
	at := func(s *httptest.Server) string { return s.Listener.Addr().String() }
	for name, c := range map[string]struct {
		host, says string
		kind       providers.Kind
		asked      int32
	}{
		"a redirect":              {at(plain), "set {address} to where it leads", providers.KindProtocol, 1},
		"TLS where there is none": {"https://" + at(plain), "it does not speak TLS: check whether {address} starts with http:// or https://", providers.KindUnavailable, 0},
		"a foreign certificate":   {"https://" + at(secure), "its certificate is not trusted: check {address} and ca_file", providers.KindUnavailable, 0},
	} {
		for _, w := range wires() {
			p, err := w.at(place{host: c.host})
			if err != nil {
				t.Fatal(err)
			}
			asked.Store(0)
			_, _, err = read(t, p, question())
			if providers.KindOf(err) != c.kind || !strings.Contains(err.Error(), w.named(c.says)) || asked.Load() != c.asked {
				t.Errorf("%s, %s: kind %q: %v after %d requests", w.name, name, providers.KindOf(err), err, asked.Load())
			}
		}
	}
}
