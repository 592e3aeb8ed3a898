package search

import (
	"bytes"
	"fmt"
	"net/url"
	"strings"

	"github.com/PuerkitoBio/goquery"
)

// maxBlocks bounds the blocks read from a page: several pages' worth, so that a hostile page
// costs no time.
const maxBlocks = 100

// parsePage reads the results of DuckDuckGo's HTML page: one block a result, with the title and a
// redirect link in result__a and the snippet in result__snippet. It skips advertisements and
// links that are not web addresses.
func parsePage(page []byte) ([]Result, error) {
	doc, err := goquery.NewDocumentFromReader(bytes.NewReader(page))
	if err != nil {
		return nil, fmt.Errorf("DuckDuckGo's page cannot be read: %w", err)
	}
	var results []Result
	seen := make(map[string]bool)
	doc.Find(".result").EachWithBreak(func(i int, block *goquery.Selection) bool {
		r, ok := parseResult(block)
		if ok && !seen[r.Link] {
			seen[r.Link] = true
			results = append(results, r)
		}
		return i < maxBlocks
	})
	if len(results) > 0 {
		return results, nil
	}
	return nil, explainEmpty(doc)
}

func parseResult(block *goquery.Selection) (Result, bool) {
	if block.HasClass("result--ad") || block.HasClass("result--no-result") || block.Find(".badge--ad").Length() > 0 {
		return Result{}, false
	}
	anchor := block.Find("a.result__a").First()
	href, _ := anchor.Attr("href")
	link, ok := unwrap(href)
	title := oneLine(anchor.Text())
	if !ok || title == "" {
		return Result{}, false
	}
	return Result{Title: title, Content: oneLine(block.Find(".result__snippet").First().Text()), Link: link}, true
}

// explainEmpty returns nil for a page without results, and an error if it is not a result page.
func explainEmpty(doc *goquery.Document) error {
	switch {
	case doc.Find(".anomaly-modal, .anomaly-modal__title, #challenge-form, form[action*='anomaly']").Length() > 0:
		return errBlocked("it asks for proof that a person searches")
	case doc.Find(".no-results, .result--no-result, #links, .results").Length() > 0:
		return nil
	}
	text := strings.ToLower(doc.Text())
	for _, sign := range []string{"captcha", "unusual traffic", "bots use duckduckgo", "access denied", "blocked"} {
		if strings.Contains(text, sign) {
			return errBlocked("it answered with a page against robots")
		}
	}
	return fmt.Errorf("DuckDuckGo's page has an unknown form: use another search tool")
}

// unwrap returns the URL of a result. DuckDuckGo wraps it in a redirect of its own (/l/?uddg=…);
// an advertisement leads to y.js, wrapped once more or not.
func unwrap(href string) (string, bool) {
	u, err := url.Parse(strings.TrimSpace(href))
	if err != nil {
		return "", false
	}
	if ownHost(u.Hostname()) && strings.HasPrefix(u.Path, "/l/") {
		if u, err = url.Parse(u.Query().Get("uddg")); err != nil {
			return "", false
		}
	}
	if (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || u.User != nil {
		return "", false
	}
	if ownHost(u.Hostname()) && (u.Path == "/y.js" || strings.HasPrefix(u.Path, "/l/")) {
		return "", false
	}
	return u.String(), true
}

// ownHost reports whether a host is DuckDuckGo's; a link without a host is relative to it.
func ownHost(host string) bool {
	return host == "" || host == "duckduckgo.com" || strings.HasSuffix(host, ".duckduckgo.com")
}
