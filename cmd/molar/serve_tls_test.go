package main

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"net/http"
	"os"
	"strings"
	"testing"

	"molar/internal/cli"
	"molar/internal/testkit"
)

// Commands ask a host that speaks TLS, by its own certificate, which is made out to
// another name than the address here, and by no other.
func TestTLS_Commands(t *testing.T) {
	t.Parallel()
	files := testkit.In(t.TempDir())
	testkit.Write(t, files, 1, "molar.example")
	config := keyedConfig(t, "tls: {cert: "+files.Cert+", key: "+files.Key+"}\n")
	key := makeKeyFor(t, config, "root", "admin", "chat")
	s := serveHost(t, config, nil)
	address := strings.TrimPrefix(s.url, "https://")
	pool := x509.NewCertPool()
	if text, err := os.ReadFile(files.Cert); err != nil || !pool.AppendCertsFromPEM(text) {
		t.Fatal(err)
	}
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
		code := execute(t.Context(), append(args, "--config", config), lookup(env), strings.NewReader(""), &out, &errs)
		return code, out.String() + errs.String()
	}
	turn := strings.TrimPrefix(answer.ID, "chatcmpl-")
	elsewhere := keyedConfig(t, "tls: {cert: "+files.Cert+", key: "+files.Key+"}\n") // with a store of its own
	for want, args := range map[string][]string{
		"nothing changed":     {"servers", "reload"},
		"memory-server ready": {"servers", "list"},
		"turn " + turn:        {"turns", "show", turn},
	} {
		if code, text := ask(elsewhere, args...); code != cli.OK || !strings.Contains(text, want) {
			t.Errorf("%v: %d %s", args, code, text)
		}
	}
	other := testkit.In(t.TempDir())
	testkit.Write(t, other, 2, "molar.example")
	stranger := keyedConfig(t, "tls: {cert: "+other.Cert+", key: "+other.Key+"}\n")
	if code, text := ask(stranger, "servers", "reload"); code != cli.Failure || !strings.Contains(text, "certificate") {
		t.Errorf("a host with another certificate: %d %s", code, text)
	}
	if code, text := ask(keyedConfig(t, ""), "servers", "reload"); code != cli.Failure || !strings.Contains(text, "speaks TLS: name the config") {
		t.Errorf("settings without TLS: %d %s", code, text)
	}
	if _, text := ask(keyedConfig(t, "tls: {cert: /none.pem, key: /none.pem}\nca_file: "+files.Cert+"\n"), "servers", "reload"); !strings.Contains(text, "certificate for 127.0.0.1") {
		t.Errorf("by authority alone, under a name that is not the certificate's: %s", text)
	}
}
