package wire

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"molar/internal/sse"
	"molar/providers"
)

const (
	// MaxErrorBody bounds how much of an error's body is read, in bytes.
	MaxErrorBody = 64 << 10
	// maxMessage bounds a foreign message, in bytes.
	maxMessage = 500
	// leastSecret is the length of the shortest key, in bytes.
	leastSecret = 8
	// maxWait bounds the wait that a service may ask for.
	maxWait = 24 * time.Hour
)

// Faults makes the errors of a provider. Their texts hold no secret and no address of the
// service, since clients may read them.
type Faults struct {
	provider string
	setting  string // the setting of the base URL
	start    string // what to do if the connection is refused
	limits   Limits
	advice   map[providers.Kind]string
	secrets  *strings.Replacer
	link     *regexp.Regexp
}

// A FaultConfig configures what a provider's errors name and hide.
type FaultConfig struct {
	Provider string
	// Setting is the setting of the base URL, Start what to do if the connection is refused.
	Setting, Start string
	Limits         Limits
	Base           *url.URL
	// Advice is what a person can do about a kind of fault, see [Advice].
	Advice map[providers.Kind]string
	// Public hosts need not be hidden.
	Public string
	// Secrets are shown as [key].
	Secrets []string
}

// NewFaults returns a provider's error maker.
func NewFaults(cfg FaultConfig) *Faults {
	var pairs []string
	hide := func(secret, label string) {
		if secret != "" {
			pairs = append(pairs, secret, label)
		}
	}
	for _, s := range cfg.Secrets {
		if len(s) >= leastSecret { // a shorter one is a placeholder, and may be a part of any word
			hide(s, "[key]")
		}
	}
	if password, ok := cfg.Base.User.Password(); ok {
		hide(password, "[key]")
	}
	for _, values := range cfg.Base.Query() {
		for _, v := range values {
			if len(v) >= leastSecret {
				hide(v, "[key]")
			}
		}
	}
	if cfg.Base.Host != cfg.Public {
		hide(cfg.Base.Host, "[server]")
		// A name without a dot may be a word of the message.
		if host := cfg.Base.Hostname(); strings.ContainsAny(host, ".:") {
			hide(host, "[server]")
		}
	}
	return &Faults{
		provider: cfg.Provider, setting: cfg.Setting, start: cfg.Start, limits: cfg.Limits, advice: cfg.Advice,
		secrets: strings.NewReplacer(pairs...), link: regexp.MustCompile(`([a-zA-Z][a-zA-Z0-9+.-]*://)[^\s"'<>]+`),
	}
}

// Fail makes a [*providers.Error].
func (f *Faults) Fail(kind providers.Kind, model string, err error) *providers.Error {
	e := &providers.Error{Kind: kind, Provider: f.provider, Model: model, Err: err}
	if kind == providers.KindContextLength && err != nil {
		e.Window = WindowIn(err.Error())
	}
	return e
}

// Advice returns what a person can do about a model or a key that a service does not know. block is the
// setting of the endpoint and keyFrom that of its key. If the service is not its API's own and has no
// key, variable is the one that holds the key of the API's owner, which gets it alone.
func Advice(block, keyFrom string, keyless bool, variable, owner string) map[providers.Kind]string {
	key := ": check " + keyFrom
	if keyless {
		key = ": name the variable that holds this server's key in " + block + ", such as key: ${" + variable + "}, which unnamed goes to " + owner + " alone"
	}
	return map[providers.Kind]string{
		providers.KindModelNotFound: ": check " + block + ".model and " + block + ".base_url",
		providers.KindAuth:          key,
	}
}

// A Fault is what an adapter reads in an error of its service.
type Fault struct {
	Kind    providers.Kind // "" if it is not known
	Message string         // the service's
	// Missing, if not empty, says that the API is not at the address.
	Missing string
	// UsedUp is set if the account is used up, which no wait fixes.
	UsedUp bool
}

// Refused returns the error of an answer with a failure status.
func (f *Faults) Refused(model string, resp *http.Response, said Fault) *providers.Error {
	kind, message := said.Kind, f.Said(resp.StatusCode, said.Message)
	switch {
	case said.Missing != "":
		kind, message = providers.KindUnavailable, said.Missing
	case kind == "", kind == providers.KindProtocol:
		kind, message = providers.KindProtocol, f.Redirects(resp.StatusCode)
	case resp.StatusCode >= 500 && said.Message != "":
		message = fmt.Sprintf("status %d: %s", resp.StatusCode, message)
	}
	e := f.Fail(kind, model, errors.New(message+f.advice[kind]))
	e.Status = resp.StatusCode
	e.RetryAfter = cmp.Or(RetryAfter(resp.Header), RetryIn(said.Message))
	e.Final = said.UsedUp || resp.Header.Get("X-Should-Retry") == "false"
	return e
}

// Reported returns the error of a fault inside an answer.
func (f *Faults) Reported(model string, said Fault) *providers.Error {
	kind := cmp.Or(said.Kind, providers.KindUnavailable)
	message := cmp.Or(f.Clean(said.Message), "the server reported an error without a text")
	e := f.Fail(kind, model, errors.New(message+f.advice[kind]))
	e.Final = said.UsedUp
	return e
}

// Transport returns the error of a request without an answer.
func (f *Faults) Transport(ctx context.Context, model string, err error) *providers.Error {
	if own, ok := errors.AsType[*providers.Error](err); ok {
		return own
	}
	if cause := context.Cause(ctx); cause != nil {
		return f.Cancelled(model, cause)
	}
	if netErr, ok := errors.AsType[net.Error](err); ok && netErr.Timeout() {
		return f.Fail(providers.KindTimeout, model, errors.New("no answer from the service: the connection timed out"))
	}
	return f.Fail(providers.KindUnavailable, model, fmt.Errorf("no answer from the service: %w", f.plain(err)))
}

// Cancelled returns the error of a call whose context ended.
func (f *Faults) Cancelled(model string, cause error) *providers.Error {
	switch {
	case errors.Is(cause, ErrNoOutput):
		return f.Fail(providers.KindTimeout, model, fmt.Errorf("%w: nothing for %v", cause, f.limits.First))
	case errors.Is(cause, ErrStalled):
		return f.Fail(providers.KindTimeout, model, fmt.Errorf("%w: nothing more for %v", cause, f.limits.Idle))
	case errors.Is(cause, context.DeadlineExceeded):
		return f.Fail(providers.KindTimeout, model, fmt.Errorf("no answer in time: %w", cause))
	}
	return f.Fail(providers.KindIncomplete, model, cause)
}

// Broken returns the error of a stream that ended early.
func (f *Faults) Broken(ctx context.Context, model string, err error) *providers.Error {
	switch {
	case context.Cause(ctx) != nil:
		return f.Cancelled(model, context.Cause(ctx))
	case errors.Is(err, sse.ErrLong):
		return f.Fail(providers.KindProtocol, model, fmt.Errorf("a message of the answer is longer than %d MB", maxAnswer>>20))
	case errors.Is(err, io.EOF):
		err = io.ErrUnexpectedEOF
	}
	return f.Fail(providers.KindIncomplete, model, fmt.Errorf("the stream broke off before its end: %w", f.plain(err)))
}

// plain replaces a network error by one without addresses.
func (f *Faults) plain(err error) error {
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		if errno == syscall.ECONNREFUSED {
			return fmt.Errorf("%w: %s or check %s", errno, f.start, f.setting)
		}
		return errno
	}
	if _, ok := errors.AsType[*net.DNSError](err); ok {
		return errors.New("its host name is not known: check " + f.setting)
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return errors.New("its certificate is not trusted: check " + f.setting + " and ca_file")
	}
	if _, ok := errors.AsType[tls.RecordHeaderError](err); ok || errors.Is(err, http.ErrSchemeMismatch) {
		return errors.New("it does not speak TLS: check whether " + f.setting + " starts with http:// or https://")
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return io.ErrUnexpectedEOF
	}
	if errors.Is(err, io.EOF) {
		return errors.New("it closed the connection")
	}
	if urlErr, ok := errors.AsType[*url.Error](err); ok {
		err = urlErr.Err
	}
	return errors.New(f.Clean(err.Error()))
}

// Clean makes a foreign message safe to show: short, valid, one line, without secrets.
func (f *Faults) Clean(message string) string {
	// Cut before the cleaning, with room for what it removes.
	if len(message) > 8*maxMessage {
		message = message[:8*maxMessage]
	}
	message = strings.Join(strings.Fields(strings.ToValidUTF8(message, "�")), " ")
	message = f.link.ReplaceAllStringFunc(f.secrets.Replace(message), bare)
	if len(message) <= maxMessage {
		return message
	}
	return strings.ToValidUTF8(message[:maxMessage], "") + "…"
}

// bare strips user, query and fragment from a URL.
func bare(link string) string {
	link, _, _ = strings.Cut(link, "?")
	link, _, _ = strings.Cut(link, "#")
	scheme, rest, _ := strings.Cut(link, "://")
	host, path, _ := strings.Cut(rest, "/")
	if at := strings.LastIndexByte(host, '@'); at >= 0 {
		host = host[at+1:]
	}
	if path != "" {
		host += "/" + path
	}
	return scheme + "://" + host
}

// Said returns the text of a refusal with the service's message. It ignores web pages.
func (f *Faults) Said(status int, message string) string {
	if message = f.Clean(message); message == "" || message[0] == '<' {
		return fmt.Sprintf("status %d without an explanation", status)
	}
	return message
}

// Redirects returns the text for a redirect, which is not followed.
func (f *Faults) Redirects(status int) string {
	return fmt.Sprintf("the service redirects (status %d): set %s to where it leads", status, f.setting)
}

// Page returns the text for a web page instead of an answer.
func (f *Faults) Page() string { return "the answer is a web page: check " + f.setting }

// NoList returns the error of a list of models that cannot be read as err says: often an address leads to the
// page of a service.
func (f *Faults) NoList(data []byte, err error) *providers.Error {
	if data = bytes.TrimSpace(data); len(data) > 0 && data[0] == '<' {
		return f.Fail(providers.KindProtocol, "", errors.New(f.Page()))
	}
	return f.Fail(providers.KindProtocol, "", fmt.Errorf("the list of models cannot be read: %w", err))
}

// KindOf maps a status and its message to a kind, "" if neither is known.
func KindOf(status int, message string) providers.Kind {
	switch {
	case status != http.StatusTooManyRequests && IsOverflow(message):
		return providers.KindContextLength
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return providers.KindAuth
	case status == http.StatusTooManyRequests, status == http.StatusPaymentRequired:
		return providers.KindQuota
	case status == http.StatusRequestTimeout, status == http.StatusGatewayTimeout:
		return providers.KindTimeout
	case status == http.StatusNotFound:
		return providers.KindModelNotFound
	case status >= 500:
		return providers.KindUnavailable
	case status >= 400:
		return providers.KindInvalid
	case status >= 300:
		return providers.KindProtocol
	}
	return ""
}

// IsOverflow reports whether a message means that the prompt is too long.
func IsOverflow(message string) bool {
	message = strings.ToLower(message)
	for _, sign := range []string{
		"maximum context length", "maximum model length", "available context size", "context length of only", "context length is only", "max_new_tokens must be",
		"exceeds the context", "exceeds the model's context", "context window", "prompt is too long", "prompt too long",
		"input length exceeds", "input is too long", "exceeds the maximum number of tokens", "max context length", "maximum prompt length",
		"too_many_prompt_tokens", "too many prompt tokens", "reduce the length of the messages", "maximum context", "too large to process",
	} {
		if strings.Contains(message, sign) {
			return true
		}
	}
	return strings.Contains(message, "token count") && strings.Contains(message, "exceed") ||
		strings.Contains(message, "must have less than") && strings.Contains(message, "tokens")
}

// WindowIn reads the context window, in tokens, from a message that a prompt is too long; 0 if it
// names none. It is the number that a maximum, a limit or the context is said to be, not what the
// prompt has or how much it is too long.
func WindowIn(message string) int {
	for _, m := range windowNumber().FindAllStringSubmatch(message, -1) {
		if strings.HasSuffix(strings.TrimSpace(m[1]), " by") {
			continue
		}
		n, err := strconv.Atoi(strings.ReplaceAll(m[2]+m[3], ",", ""))
		if err == nil && n >= leastWindow {
			return n
		}
	}
	return 0
}

// leastWindow is the smallest number that is taken for a window.
const leastWindow = 256

// windowNumber matches a number after or before a word for a limit, in one sentence.
var windowNumber = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)\b((?:max\w*|context|limit|allowed|available|n_ctx)[^.\d]{0,40}?)(\d[\d,]{2,10})\b|\b(\d[\d,]{2,10}) (?:tokens )?max`)
})

// RetryIn reads the wait from a service's message, if it has no header for it; 0 if there is
// none.
func RetryIn(message string) time.Duration {
	match := regexp.MustCompile(`(?i)\b(?:retry|try again) (?:in|after) (\d[\d.hms]*)( ?(?:sec|min|hour))?`).FindStringSubmatch(message)
	if match == nil {
		return 0
	}
	amount := strings.TrimRight(match[1], ".")
	if unit := strings.TrimSpace(match[2]); unit != "" {
		amount += unit[:1]
	}
	wait, err := time.ParseDuration(amount)
	if err != nil {
		return 0
	}
	return min(wait, maxWait)
}

// RetryAfter reads the wait that the service asks for: milliseconds, seconds or a date; 0 if
// there is none.
func RetryAfter(header http.Header) time.Duration {
	for _, unit := range []struct {
		header string
		of     time.Duration
	}{{"Retry-After-Ms", time.Millisecond}, {"Retry-After", time.Second}} {
		n, err := strconv.ParseFloat(strings.TrimSpace(header.Get(unit.header)), 64)
		if err == nil && n > 0 {
			return time.Duration(min(n*float64(unit.of), float64(maxWait)))
		}
	}
	date, err := http.ParseTime(header.Get("Retry-After"))
	if err != nil {
		return 0
	}
	// Relative to the service's clock, if the Date header gives it.
	now, err := http.ParseTime(header.Get("Date"))
	if err != nil {
		now = time.Now()
	}
	return min(max(0, date.Sub(now)), maxWait)
}
