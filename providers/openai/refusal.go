package openai

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"time"

	"molar/providers"
)

// How a refused request is tried again.
const (
	maxRetries = 2
	maxPause   = 30 * time.Second
	firstPause = 500 * time.Millisecond
)

// A refusal is an answer with a status of failure.
type refusal struct {
	status int
	fault  fault
	err    *providers.Error
	// final is set when the service says that asking again is no use.
	final bool
}

// readRefusal reads an answer with a status of failure.
func (p *Provider) readRefusal(model string, resp *http.Response) *refusal {
	data, _ := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody))
	f := readFault(data)
	kind := f.kind(resp.StatusCode)
	said := p.scrub.clean(f.message)
	switch {
	case said == "":
		said = fmt.Sprintf("status %d without an explanation", resp.StatusCode)
	case resp.StatusCode >= 500:
		said = fmt.Sprintf("status %d: %s", resp.StatusCode, said)
	}
	switch {
	case kind == "":
		kind = providers.KindProtocol
	case kind == providers.KindModelNotFound && noSuchPage(f, data):
		kind = providers.KindUnavailable
		said = "no OpenAI API at this address (status 404): check llm.openai.base_url, which usually ends in /v1"
	case kind == providers.KindProtocol:
		said = fmt.Sprintf("the service redirects (status %d): set llm.openai.base_url to its final address", resp.StatusCode)
	}
	err := p.fail(kind, model, errors.New(said+advice(kind)))
	err.Status = resp.StatusCode
	err.RetryAfter = retryAfter(resp.Header)
	return &refusal{
		status: resp.StatusCode, fault: f, err: err,
		final: resp.Header.Get("X-Should-Retry") == "false" || strings.Contains(f.code, "insufficient_quota"),
	}
}

// noSuchPage tells a wrong address from a model that does not exist.
func noSuchPage(f fault, body []byte) bool {
	return len(body) > 0 && !json.Valid(body) || f.message == "Not Found" || f.message == "File Not Found"
}

// pause says whether to ask again, and after what time.
func (r *refusal) pause(tries int) (time.Duration, bool) {
	wait := r.err.RetryAfter
	if tries >= maxRetries || r.final || wait > maxPause {
		return 0, false
	}
	switch {
	case r.status == http.StatusTooManyRequests:
		return wait, wait > 0
	case r.status >= 500 && r.status != http.StatusNotImplemented:
		if wait == 0 {
			// Spread, so that streams that failed together do not come back together.
			wait = firstPause<<tries + rand.N(firstPause/2) //nolint:gosec // jitter is no secret
		}
		return wait, true
	}
	return 0, false
}

// retryAfter reads how long the service asks to wait: milliseconds, seconds or a
// date; 0 when it does not say.
func retryAfter(header http.Header) time.Duration {
	for _, unit := range []struct {
		header string
		of     time.Duration
	}{{"Retry-After-Ms", time.Millisecond}, {"Retry-After", time.Second}} {
		n, err := strconv.ParseFloat(strings.TrimSpace(header.Get(unit.header)), 64)
		if err == nil && n > 0 {
			const most = float64(24 * time.Hour)
			return time.Duration(min(n*float64(unit.of), most))
		}
	}
	date, err := http.ParseTime(header.Get("Retry-After"))
	if err != nil {
		return 0
	}
	// Against the service's own clock, where it tells it.
	now, err := http.ParseTime(header.Get("Date"))
	if err != nil {
		now = time.Now()
	}
	return min(max(0, date.Sub(now)), 24*time.Hour)
}
