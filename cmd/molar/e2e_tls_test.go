package main

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"molar/internal/cli"
)

// selfSigned writes a certificate for this machine and its key, as PEM.
func selfSigned(t *testing.T) (cert, key string, pool *x509.CertPool) {
	t.Helper()
	ts := httptest.NewTLSServer(nil)
	ts.Close()
	pair := ts.TLS.Certificates[0]
	der, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for path, block := range map[string]*pem.Block{
		cert: {Type: "CERTIFICATE", Bytes: pair.Certificate[0]},
		key:  {Type: "PRIVATE KEY", Bytes: der},
	} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	pool = x509.NewCertPool()
	pool.AddCert(ts.Certificate())
	return cert, key, pool
}

// Both ports speak TLS, and a host trusts the certificate of its memory by ca_file.
func TestTLS(t *testing.T) {
	t.Parallel()
	cert, key, pool := selfSigned(t)
	far := keyedConfig(t, "tls: {cert: "+cert+", key: "+key+"}\n")
	office := makeKeyFor(t, far, "office", "host")
	m := serveAlone(t, far, "127.0.0.1:0")
	if !strings.HasPrefix(m.url, "https://") {
		t.Fatalf("the memory listens on %s", m.url)
	}
	near := func(more string) *served {
		return serveHost(t, writeFile(t, "near.yaml", "llm: {provider: offline}\nstate: "+filepath.Join(t.TempDir(), "state.db")+
			"\ntls: {cert: "+cert+", key: "+key+"}\nmemory: {url: \""+m.url+"\", key: \""+office+"\"}\n"+more), nil)
	}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}, DisableKeepAlives: true}}
	for more, saved := range map[string]string{"ca_file: " + cert + "\n": `"saved":true`, "": `"saved":false`} {
		s := near(more)
		c := caller{t: t, url: s.url, client: client}
		if got := c.want(200, "", http.MethodPost, "/v1/chat/completions", questionBody("general", "c", "hello", false)); !strings.Contains(got, saved) {
			t.Errorf("with %q: %s", more, got)
		}
	}
	for more, fault := range map[string]string{
		"tls: {cert: /none.pem, key: " + key + "}\n": "tls.cert and tls.key",
		"ca_file: " + key + "\n":                     "there is no certificate in it",
	} {
		if code, _, errs := molarCmd(t, "serve", "--config", keyedConfig(t, more), "--listen", "127.0.0.1:0"); code != cli.Misuse || !strings.Contains(errs, fault) {
			t.Errorf("%s: %d %s", more, code, errs)
		}
	}
}
