package search

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"golang.org/x/time/rate"

	"molar/internal/text"
)

// DuckDuckGoConfig configures access to DuckDuckGo. The zero value works.
type DuckDuckGoConfig struct {
	// BaseURL is the URL of the HTML page; "https://html.duckduckgo.com/html/" if empty.
	BaseURL string
	// Region is DuckDuckGo's region code, such as "vn-vi" or "us-en". If empty, the language of
	// the query decides.
	Region string
	// Timeout bounds one search; 8 s when zero.
	Timeout time.Duration
	// HTTPClient may be nil.
	HTTPClient *http.Client
}

// The rate of requests to DuckDuckGo, which blocks faster clients.
const (
	searchesPerSecond = 1
	searchBurst       = 4
	maxTurnWait       = 5 * time.Second // for a search's turn; its timeout starts after
)

const (
	defaultBaseURL = "https://html.duckduckgo.com/html/"
	defaultTimeout = 8 * time.Second
	maxPage        = 2 << 20 // bytes read of a result page
	userAgent      = "Mozilla/5.0 (compatible; Molar/1.0; a search for one person's question)"
)

// duckDuckGo searches the web over DuckDuckGo's HTML page.
type duckDuckGo struct {
	base    *url.URL
	region  string
	timeout time.Duration
	client  *http.Client
	turns   *rate.Limiter
}

func newDuckDuckGo(c DuckDuckGoConfig) (*duckDuckGo, error) {
	if c.BaseURL == "" {
		c.BaseURL = defaultBaseURL
	}
	base, err := url.Parse(c.BaseURL)
	if err != nil || base.Host == "" || (base.Scheme != "http" && base.Scheme != "https") {
		return nil, fmt.Errorf("duckduckgo base_url is %q: give an http or https address such as %s", c.BaseURL, defaultBaseURL)
	}
	if c.Timeout < 0 {
		return nil, fmt.Errorf("duckduckgo timeout is %s: give a positive duration", c.Timeout)
	}
	d := &duckDuckGo{base: base, region: c.Region, timeout: c.Timeout, client: c.HTTPClient, turns: rate.NewLimiter(searchesPerSecond, searchBurst)}
	if d.timeout == 0 {
		d.timeout = defaultTimeout
	}
	if d.client == nil {
		d.client = &http.Client{}
	}
	return d, nil
}

// search returns up to maxResults results. Its errors are worded for the tool's caller.
func (d *duckDuckGo) search(ctx context.Context, query string) ([]Result, error) {
	if err := d.wait(ctx); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, d.timeout)
	defer cancel()
	req, err := d.request(ctx, query)
	if err != nil {
		return nil, err
	}
	resp, err := d.client.Do(req)
	if err != nil {
		return nil, d.unreachable(err)
	}
	defer resp.Body.Close()
	if err := checkStatus(resp.StatusCode); err != nil {
		return nil, err
	}
	page, err := io.ReadAll(io.LimitReader(resp.Body, maxPage))
	if err != nil {
		return nil, d.unreachable(err)
	}
	results, err := parsePage(page)
	if err != nil {
		return nil, err
	}
	return ranked(results), nil
}

// wait waits for a search's turn. It refuses at once if the turn is too far off.
func (d *duckDuckGo) wait(ctx context.Context) error {
	turn := d.turns.Reserve()
	delay := turn.Delay()
	if delay > maxTurnWait {
		turn.Cancel()
		return fmt.Errorf("too many web searches at once: try again in %s, or use another search tool", delay.Round(time.Second))
	}
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		turn.Cancel()
		return d.unreachable(ctx.Err())
	}
}

// request builds the request of the page's own search form.
func (d *duckDuckGo) request(ctx context.Context, query string) (*http.Request, error) {
	lang := queryLanguage(query)
	form := url.Values{"q": {query}, "kl": {d.region}, "b": {""}}
	if d.region == "" {
		form.Set("kl", map[string]string{"vi": "vn-vi", "en": "us-en"}[lang])
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, d.base.String(), strings.NewReader(form.Encode()))
	if err != nil {
		return nil, fmt.Errorf("search the web: %w", err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("User-Agent", userAgent)
	req.Header.Set("Accept", "text/html")
	req.Header.Set("Accept-Language", map[string]string{"vi": "vi,en;q=0.5", "en": "en,vi;q=0.5"}[lang])
	req.Header.Set("Referer", d.base.Scheme+"://"+d.base.Host+"/")
	return req, nil
}

func (d *duckDuckGo) unreachable(err error) error {
	if timeout, ok := errors.AsType[net.Error](err); ok && timeout.Timeout() {
		return fmt.Errorf("DuckDuckGo did not answer within %s: check the connection and try again", d.timeout)
	}
	if errors.Is(err, context.Canceled) {
		return errors.New("the search was cancelled")
	}
	return fmt.Errorf("DuckDuckGo cannot be reached at %s: check the connection", d.base.Host)
}

// checkStatus distinguishes a block from a failure. The page answers 202 to require a human.
func checkStatus(status int) error {
	switch status {
	case http.StatusOK:
		return nil
	case http.StatusAccepted, http.StatusForbidden, http.StatusTooManyRequests, 418:
		return errBlocked(fmt.Sprintf("status %d", status))
	}
	return fmt.Errorf("DuckDuckGo answered with status %d: try again later", status)
}

func errBlocked(sign string) error {
	return fmt.Errorf("DuckDuckGo blocked the search (%s): wait some minutes before searching again, or use another search tool", sign)
}

// ranked keeps the first results and gives each a score by its rank.
func ranked(results []Result) []Result {
	results = results[:min(len(results), maxResults)]
	for i := range results {
		results[i].Score = 1 / float64(i+1)
	}
	return results
}

// queryLanguage returns "vi" if a query contains a Vietnamese letter or a common Vietnamese word
// without its marks, else "en". It only chooses the region.
func queryLanguage(query string) string {
	for _, r := range strings.ToLower(query) {
		if r == 'đ' || r == 'ă' || r == 'ơ' || r == 'ư' || (r >= 0x1EA0 && r <= 0x1EF9) {
			return "vi"
		}
	}
	for _, word := range text.Words(query) {
		switch word.Folded {
		case "rang", "nuou", "nieng", "khong", "bao", "nhieu", "lam", "bi", "dau", "cach", "toi", "nhu", "gi", "benh", "tre", "khoa", "duoc", "nguoi":
			return "vi"
		}
	}
	return "en"
}
