package main

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"molar/internal/config"
)

// writePair writes a certificate of its own signature, made out to the names, and its
// key.
func writePair(t *testing.T, files config.TLS, serial int64, names ...string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	made := &x509.Certificate{
		SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: "test"}, DNSNames: names,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(100 * 365 * 24 * time.Hour),
	}
	cert, err := x509.CreateCertificate(rand.Reader, made, made, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	writePEM(t, files.Cert, "CERTIFICATE", cert)
	writePEM(t, files.Key, "PRIVATE KEY", private)
}

func writePEM(t *testing.T, path, kind string, der []byte) {
	t.Helper()
	fresh := path + ".new" // then renamed, as certificate tools do it
	if err := os.WriteFile(fresh, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(fresh, path); err != nil {
		t.Fatal(err)
	}
}

func pairIn(dir string) config.TLS {
	return config.TLS{Cert: filepath.Join(dir, "cert.pem"), Key: filepath.Join(dir, "key.pem")}
}

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
		files := pairIn(t.TempDir())
		writePair(t, files, 1)
		log := newLines()
		settings, err := loadTLS(&config.Config{TLS: files}, slog.New(slog.NewTextHandler(log, nil)))
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
			{"renewed", func() { writePair(t, files, 2) }, 2, 0},
			{"a file that is no certificate", func() { writePEM(t, files.Cert, "JUNK", nil) }, 2, 1},
			{"still that", func() {}, 2, 1},
			{"gone", func() { _ = os.Remove(files.Cert) }, 2, 2},
			{"good again", func() { writePair(t, files, 3) }, 3, 2},
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

// Commands ask a host that speaks TLS, by its own certificate, which is made out to
// another name than the address here, and by no other.
func TestTLS_Commands(t *testing.T) {
	files := pairIn(t.TempDir())
	writePair(t, files, 1, "molar.example")
	config := keyedConfig(t, "tls: {cert: "+files.Cert+", key: "+files.Key+"}\n")
	key := makeKeyFor(t, config, "root", "admin", "chat")
	s := serveHost(t, config, nil)
	address := strings.TrimPrefix(s.url, "https://")
	pool := x509.NewCertPool()
	pool.AddCert(firstCertificate(files.Cert))
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, ServerName: "molar.example", MinVersion: tls.VersionTLS12}, DisableKeepAlives: true}}
	c := caller{t: t, url: s.url, client: client, key: key}
	var answer struct {
		Fingerprint string `json:"system_fingerprint"`
		ID          string `json:"id"`
	}
	if err := json.Unmarshal([]byte(c.want(200, "", http.MethodPost, "/v1/chat/completions", questionBody("general", "c", "hello", false))), &answer); err != nil {
		t.Fatal(err)
	}
	ask := func(config string, args ...string) (int, string) {
		env := homeEnv(t, nil)
		env["MOLAR_API_KEY"], env["MOLAR_LISTEN"] = key, address
		var out, errs bytes.Buffer
		code := run(t.Context(), append(args, "--config", config), lookup(env), strings.NewReader(""), &out, &errs)
		return code, out.String() + errs.String()
	}
	turn := strings.TrimPrefix(answer.ID, "chatcmpl-")
	elsewhere := keyedConfig(t, "tls: {cert: "+files.Cert+", key: "+files.Key+"}\n") // with a store of its own
	for want, args := range map[string][]string{
		"nothing changed":     {"servers", "reload"},
		"memory-server ready": {"servers", "list"},
		"turn " + turn:        {"turns", "show", turn},
	} {
		if code, text := ask(elsewhere, args...); code != exitOK || !strings.Contains(text, want) {
			t.Errorf("%v: %d %s", args, code, text)
		}
	}
	other := pairIn(t.TempDir())
	writePair(t, other, 2, "molar.example")
	stranger := keyedConfig(t, "tls: {cert: "+other.Cert+", key: "+other.Key+"}\n")
	if code, text := ask(stranger, "servers", "reload"); code != exitFailure || !strings.Contains(text, "certificate") {
		t.Errorf("a host with another certificate: %d %s", code, text)
	}
	if code, text := ask(keyedConfig(t, ""), "servers", "reload"); code != exitFailure || !strings.Contains(text, "speaks TLS: name the config") {
		t.Errorf("settings without TLS: %d %s", code, text)
	}
	if _, text := ask(keyedConfig(t, "tls: {cert: /none.pem, key: /none.pem}\nca_file: "+files.Cert+"\n"), "servers", "reload"); !strings.Contains(text, "certificate for 127.0.0.1") {
		t.Errorf("by authority alone, under a name that is not the certificate's: %s", text)
	}
}
