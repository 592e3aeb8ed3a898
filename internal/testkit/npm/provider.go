package npm

import (
	"bufio"
	"context"
	"crypto/rand"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

//go:embed provider/provider.mjs
var providerScript []byte

// A Provider is a running identity provider, at which everybody may sign in: the part of a name before
// "-" is the person's group. Its one client is "molar", which has no secret.
type Provider struct {
	// Issuer is its address.
	Issuer string
	// Stop ends it.
	Stop     func()
	callback string
	// logouts are the forms that it sent when somebody signed out there.
	logouts chan string
}

// StartProvider starts an identity provider that sends people back to the path callback, on any port of
// 127.0.0.1. Without node or the package the test is skipped, as [Installed] says.
func StartProvider(t testing.TB, callback string) *Provider {
	t.Helper()
	modules := filepath.Dir(Installed(t, "npm", "node_modules", "oidc-provider"))
	logouts := make(chan string, 1)
	listener := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if text, err := io.ReadAll(r.Body); err == nil {
			select {
			case logouts <- string(text):
			default: // nobody waits for it
			}
		}
	}))
	t.Cleanup(listener.Close)
	issuer, _, stop := startScript(t, providerScript, modules, "0", "http://127.0.0.1"+callback, listener.URL)
	return &Provider{Issuer: issuer, Stop: stop, callback: callback, logouts: logouts}
}

// startScript starts a script for node, and returns the first line that it prints, what it prints then,
// and what ends it, which the end of the test does as well.
func startScript(t testing.TB, text []byte, args ...string) (line string, out *bufio.Reader, stop func()) {
	t.Helper()
	script := filepath.Join(t.TempDir(), "script.mjs")
	if err := os.WriteFile(script, text, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "node", append([]string{script}, args...)...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir()}
	var stderr strings.Builder
	cmd.Stderr = &stderr
	pipe, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatalf("start a script for node: %v", err)
	}
	stopped := false
	stop = func() {
		if !stopped {
			stopped = true
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
	}
	t.Cleanup(stop)
	out = bufio.NewReader(pipe)
	if line, err = out.ReadString('\n'); err != nil {
		stop()
		t.Fatalf("the script for node does not start: %v\n%s", err, stderr.String())
	}
	return strings.TrimSpace(line), out, stop
}

// maxForms is how many pages somebody sees at most while they sign in: two forms and the callback.
const maxForms = 4

// toldWithin is how long the provider may take to tell its clients that somebody signed out.
const toldWithin = 10 * time.Second

var xsrfField = regexp.MustCompile(`name="xsrf" value="([^"]+)"`)

var formAction = regexp.MustCompile(`<form[^>]* action="([^"]+)"`)

// SignIn signs somebody in as a browser does: it opens the address, which leads to the provider, and
// sends the provider's forms until the provider sends it back. It returns the last answer and its text;
// the client keeps the cookies.
func (p *Provider) SignIn(ctx context.Context, client *http.Client, begin, login string) (res *http.Response, text string, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, begin, http.NoBody)
	for range maxForms {
		if err != nil {
			return nil, "", err
		}
		req.Header.Set("Accept", "text/html")
		if res, text, err = read(client, req); err != nil {
			return nil, "", err
		}
		form := formAction.FindStringSubmatch(text)
		if form == nil || !strings.HasPrefix(res.Request.URL.String(), p.Issuer) {
			return res, text, nil
		}
		fields := url.Values{"prompt": {"consent"}}
		if strings.Contains(text, `value="login"`) {
			fields = url.Values{"prompt": {"login"}, "login": {login}, "password": {"any"}}
		}
		if req, err = http.NewRequestWithContext(ctx, http.MethodPost, html.UnescapeString(form[1]), strings.NewReader(fields.Encode())); err == nil {
			req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		}
	}
	return nil, "", fmt.Errorf("the identity provider asks %s without end", login)
}

// SignOut signs somebody out at the provider, in the browser in which they signed in, and returns the form
// that the provider sends to the addresses of its clients, with the logout token.
func (p *Provider) SignOut(t testing.TB, client *http.Client) (form string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.Issuer+"/session/end", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	_, text, err := read(client, req) //nolint:bodyclose // it is read and closed
	action, secret := formAction.FindStringSubmatch(text), xsrfField.FindStringSubmatch(text)
	if err != nil || action == nil || secret == nil {
		t.Fatalf("the page for signing out: %v %s", err, text)
	}
	fields := url.Values{"xsrf": {secret[1]}, "logout": {"yes"}}
	if req, err = http.NewRequestWithContext(t.Context(), http.MethodPost, html.UnescapeString(action[1]), strings.NewReader(fields.Encode())); err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if res, text, err := read(client, req); err != nil || res.StatusCode >= http.StatusBadRequest { //nolint:bodyclose // it is read and closed
		t.Fatalf("sign out at the provider: %v %s", err, text)
	}
	select {
	case form = <-p.logouts:
	case <-time.After(toldWithin):
		t.Fatal("the provider tells nobody")
	}
	return form
}

func read(client *http.Client, req *http.Request) (*http.Response, string, error) {
	res, err := client.Do(req)
	if err != nil {
		return nil, "", err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	return res, string(text), err
}

// Browser returns a client that keeps cookies, as a browser does.
func Browser(transport http.RoundTripper) *http.Client {
	jar, _ := cookiejar.New(nil) // never fails
	return &http.Client{Transport: transport, Jar: jar}
}

// ComesBack signs somebody in at the address, and returns the answer with which the provider sends them
// back.
func (p *Provider) ComesBack(t testing.TB, begin, login string) url.Values {
	t.Helper()
	client := Browser(nil)
	client.CheckRedirect = func(req *http.Request, _ []*http.Request) error {
		if req.URL.Path == p.callback {
			return http.ErrUseLastResponse
		}
		return nil
	}
	res, text, err := p.SignIn(t.Context(), client, begin, login) //nolint:bodyclose // it is read and closed
	if err != nil {
		t.Fatal(err)
	}
	at, err := res.Location()
	if err != nil {
		t.Fatalf("%v: %d %s", err, res.StatusCode, text)
	}
	return at.Query()
}

// Token returns an ID token of somebody, for a program of theirs.
func (p *Provider) Token(t testing.TB, login string) string {
	t.Helper()
	verifier := rand.Text() + rand.Text()
	challenge := sha256.Sum256([]byte(verifier))
	back := "http://127.0.0.1:9" + p.callback
	answer := p.ComesBack(t, p.Issuer+"/auth?"+url.Values{
		"client_id": {"molar"}, "response_type": {"code"}, "scope": {"openid profile email"}, "redirect_uri": {back},
		"code_challenge": {base64.RawURLEncoding.EncodeToString(challenge[:])}, "code_challenge_method": {"S256"},
	}.Encode(), login)
	form := url.Values{"grant_type": {"authorization_code"}, "client_id": {"molar"}, "redirect_uri": {back}, "code": {answer.Get("code")}, "code_verifier": {verifier}}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, p.Issuer+"/token", strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	_, text, err := read(http.DefaultClient, req) //nolint:bodyclose // it is read and closed
	if err != nil {
		t.Fatal(err)
	}
	var tokens struct {
		ID string `json:"id_token"`
	}
	if err := json.Unmarshal([]byte(text), &tokens); err != nil || tokens.ID == "" {
		t.Fatalf("no ID token: %v %s", err, text)
	}
	return tokens.ID
}
