package tape

import (
	"crypto/sha256"
	"encoding/hex"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// A rule finds one kind of secret: the first group of its pattern, or the whole match.
type rule struct {
	name string
	// hints are texts of which every match contains one: searching for them is cheap.
	hints   []string
	pattern *regexp.Regexp
}

// A Redactor replaces secrets by stable marks, [REDACTED:rule:hash8]. Equal secrets get equal
// marks, so that a redacted request still matches its recording.
type Redactor struct {
	known []string
	rules []rule
}

// NewRedactor returns a redactor for the given secrets, in addition to its rules.
func NewRedactor(secrets ...string) *Redactor {
	r := &Redactor{rules: []rule{
		{"google_key", []string{"AIza"}, regexp.MustCompile(`\bAIza[0-9A-Za-z_-]{35}`)},
		{"openai_key", []string{"sk-"}, regexp.MustCompile(`\bsk-(?:proj-|ant-|live-|test-)?[A-Za-z0-9_-]{20,}`)},
		{"github_token", []string{"ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"}, regexp.MustCompile(`\b(?:gh[pousr]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{22,})`)},
		{"slack_token", []string{"xox"}, regexp.MustCompile(`\bxox[abprs]-[A-Za-z0-9-]{10,}`)},
		{"aws_key", []string{"AKIA", "ASIA"}, regexp.MustCompile(`\b(?:AKIA|ASIA)[0-9A-Z]{16}\b`)},
		{"jwt", []string{"eyJ"}, regexp.MustCompile(`\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}`)},
		{"bearer", []string{"earer", "EARER"}, regexp.MustCompile(`(?i)\bbearer\s+([A-Za-z0-9._~+/-]{16,}=*)`)},
		{"private_key", []string{"PRIVATE KEY"}, regexp.MustCompile(`-----BEGIN [A-Z ]*PRIVATE KEY-----[^-]*-----END [A-Z ]*PRIVATE KEY-----`)},
		{"query_key", []string{"key=", "token="}, regexp.MustCompile(`[?&](?:key|api_key|apikey|access_token|token)=([^&\s"'\\\[]{8,})`)},
		{"url_password", []string{"://"}, regexp.MustCompile(`\b[a-z][a-z0-9+.-]*://[^\s:/@"\\]+:([^\s/@"\\\[]{3,})@`)},
	}}
	for _, s := range secrets {
		if len(s) >= 6 { // shorter ones may occur in ordinary words
			r.known = append(r.known, s)
		}
	}
	slices.SortFunc(r.known, func(a, b string) int { return len(b) - len(a) })
	return r
}

// Text replaces all secrets in s.
func (r *Redactor) Text(s string) string {
	for _, rule := range r.rules { // rules first: a replay may not have the configured secrets
		s = rule.replace(s)
	}
	for _, secret := range r.known {
		if strings.Contains(s, secret) {
			s = strings.ReplaceAll(s, secret, mark("configured", secret))
		}
	}
	return s
}

// mayMatch reports whether a text contains a hint.
func (r *rule) mayMatch(s string) bool {
	return slices.ContainsFunc(r.hints, func(hint string) bool { return strings.Contains(s, hint) })
}

func (r *rule) replace(s string) string {
	if !r.mayMatch(s) {
		return s
	}
	found := r.pattern.FindAllStringSubmatchIndex(s, -1)
	if found == nil {
		return s
	}
	var b strings.Builder
	last := 0
	for _, m := range found {
		from, to := m[0], m[1]
		if len(m) > 2 && m[2] >= 0 {
			from, to = m[2], m[3]
		}
		b.WriteString(s[last:from])
		b.WriteString(mark(r.name, s[from:to]))
		last = to
	}
	return b.String() + s[last:]
}

func mark(rule, secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return "[REDACTED:" + rule + ":" + hex.EncodeToString(sum[:4]) + "]"
}

// Path returns the path and query of a URL, without secrets.
func (r *Redactor) Path(u *url.URL) string {
	query := u.Query()
	for name := range query {
		if secretParam(name) {
			query.Del(name)
		}
	}
	path := u.EscapedPath()
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	return r.Text(path)
}

func secretParam(name string) bool {
	switch strings.ToLower(name) {
	case "key", "api_key", "apikey", "access_token", "token", "code", "sig", "signature":
		return true
	}
	return false
}
