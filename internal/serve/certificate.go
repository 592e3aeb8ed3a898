package serve

import (
	"crypto/tls"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"sync"
	"time"

	"molar/internal/cli"
	"molar/internal/config"
)

// certificateCheck is the shortest interval at which connections check the files of the
// certificate: the delay of a renewed one.
const certificateCheck = 2 * time.Second

// loadTLS reads the certificate; nil means plain HTTP. A certificate renewed in its files is
// used for later connections.
func loadTLS(cfg *config.Config, log *slog.Logger) (*tls.Config, error) {
	if !cfg.TLS.On() {
		return nil, nil //nolint:nilnil // no TLS, no settings
	}
	c := &certificate{files: cfg.TLS, log: log, checked: time.Now(), seen: statePair(cfg.TLS)}
	pair, err := tls.LoadX509KeyPair(cfg.TLS.Cert, cfg.TLS.Key)
	if err != nil {
		return nil, cli.Usage(fmt.Errorf("tls.cert and tls.key: %w", err))
	}
	c.pair = &pair
	return &tls.Config{GetCertificate: c.get, MinVersion: tls.VersionTLS12}, nil
}

// A certificate is a port's pair, kept equal to its files.
type certificate struct {
	files config.TLS
	log   *slog.Logger

	mu      sync.Mutex
	pair    *tls.Certificate
	seen    [2]fs.FileInfo
	checked time.Time
}

// get returns the pair for a new connection.
func (c *certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := time.Now(); now.Sub(c.checked) >= certificateCheck {
		c.checked = now
		c.refresh()
	}
	return c.pair, nil
}

// refresh rereads changed files. An unusable pair is logged once, and the last valid one
// stays.
func (c *certificate) refresh() {
	state := statePair(c.files)
	if sameFile(state[0], c.seen[0]) && sameFile(state[1], c.seen[1]) {
		return
	}
	c.seen = state
	pair, err := tls.LoadX509KeyPair(c.files.Cert, c.files.Key)
	if err != nil {
		c.log.Warn("the renewed TLS certificate cannot be used; the last good one stays", "cert", c.files.Cert, "key", c.files.Key, "error", err)
		return
	}
	c.pair = &pair
	c.log.Info("the TLS certificate was reloaded", "cert", c.files.Cert, "until", pair.Leaf.NotAfter)
}

// statePair returns the state of the two files; nil for a missing one.
func statePair(files config.TLS) (state [2]fs.FileInfo) {
	for i, path := range []string{files.Cert, files.Key} {
		if info, err := os.Stat(path); err == nil {
			state[i] = info
		}
	}
	return state
}

func sameFile(a, b fs.FileInfo) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	return os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
}
