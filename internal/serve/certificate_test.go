package serve

import (
	"bytes"
	"crypto/tls"
	"log/slog"
	"net"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"molar/internal/config"
	"molar/internal/testkit"
)

// shownSerial makes a TLS connection and returns the number of the certificate shown.
func shownSerial(t *testing.T, settings *tls.Config) int64 {
	t.Helper()
	near, far := net.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- tls.Server(far, settings).Handshake() }()
	client := tls.Client(near, &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS13})
	if err := client.HandshakeContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	go func() { _, _ = near.Read(make([]byte, 4096)) }() // what the server sends after its handshake
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	_, _ = near.Close(), far.Close()
	return client.ConnectionState().PeerCertificates[0].SerialNumber.Int64()
}

func TestLoadTLS_RenewedCertificate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		files := testkit.In(t.TempDir())
		testkit.Write(t, files, 1)
		log := &bytes.Buffer{}
		settings, err := loadTLS(&config.Config{TLS: config.TLS{Cert: files.Cert, Key: files.Key}}, slog.New(slog.NewTextHandler(log, nil)))
		if err != nil {
			t.Fatal(err)
		}
		warnings := func() int { return strings.Count(log.String(), "level=WARN") }
		steps := []struct {
			what     string
			change   func()
			want     int64
			warnings int
		}{
			{"nothing changed", func() {}, 1, 0},
			{"renewed", func() { testkit.Write(t, files, 2) }, 2, 0},
			{"a file that is no certificate", func() { testkit.WritePEM(t, files.Cert, "JUNK", nil) }, 2, 1},
			{"still that", func() {}, 2, 1},
			{"gone", func() { _ = os.Remove(files.Cert) }, 2, 2},
			{"good again", func() { testkit.Write(t, files, 3) }, 3, 2},
		}
		for _, step := range steps {
			before := shownSerial(t, settings)
			step.change()
			if got := shownSerial(t, settings); got != before {
				t.Errorf("%s: looked at the files again within %s", step.what, certificateCheck)
			}
			time.Sleep(certificateCheck)
			if got := shownSerial(t, settings); got != step.want || warnings() != step.warnings {
				t.Errorf("%s: certificate %d and %d warnings, want %d and %d\n%s", step.what, got, warnings(), step.want, step.warnings, log)
			}
		}
	})
}
