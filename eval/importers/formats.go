package importers

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	"molar/internal/text"
)

func importPairs(name, source string, pairs []pair) ([]Imported, error) {
	if len(pairs) == 0 {
		return nil, fmt.Errorf("%s:1: there is no recorded request in it: is it %s?", name, source)
	}
	imported, err := recording(baseName(name), source, pairs)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return []Imported{imported}, nil
}

// longestQuote is the maximum length of a quotation in an error, in bytes.
const longestQuote = 120

// readHTTPRR reads a recording of httprr: a header line, then the lengths of each request
// and response, and their bytes.
func readHTTPRR(name string, data []byte) ([]Imported, error) {
	header, rest, ok := bytes.Cut(data, []byte("\n"))
	if !ok || !strings.HasPrefix(string(header), "httprr trace v1") {
		return nil, fmt.Errorf("%s:1: no recording of httprr: it begins with %q", name, text.Clip(string(header), longestQuote, "…"))
	}
	var pairs []pair
	for len(bytes.TrimSpace(rest)) > 0 {
		at := 1 + bytes.Count(data[:len(data)-len(rest)], []byte("\n"))
		lengths, after, ok := bytes.Cut(rest, []byte("\n"))
		a, b, found := strings.Cut(string(lengths), " ")
		n, err1 := strconv.Atoi(a)
		m, err2 := strconv.Atoi(strings.TrimSpace(b))
		if !ok || !found || err1 != nil || err2 != nil || n < 0 || m < 0 || n > len(after) || m > len(after)-n {
			return nil, fmt.Errorf("%s:%d: want the lengths of a request and a response, got %q", name, at, text.Clip(string(lengths), longestQuote, "…"))
		}
		p, err := parsePair(after[:n], after[n:n+m])
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", name, at, err)
		}
		pairs = append(pairs, p)
		rest = after[n+m:]
	}
	return importPairs(name, "httprr", pairs)
}

// parsePair parses a request and a response in HTTP's wire format.
func parsePair(request, response []byte) (pair, error) {
	req, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(request)))
	if err != nil {
		return pair{}, fmt.Errorf("request: %w", err)
	}
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return pair{}, fmt.Errorf("request: %w", err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(response)), req)
	if err != nil {
		return pair{}, fmt.Errorf("response: %w", err)
	}
	defer func() { _ = resp.Body.Close() }() // it is in memory
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		return pair{}, fmt.Errorf("response: %w", err)
	}
	return pair{method: req.Method, url: req.URL.String(), request: string(body), status: resp.StatusCode, response: string(answer)}, nil
}

// readPairs reads request and response pairs: consecutive JSON objects with source, method, url,
// status, request and response. Pairs with the same source are one recording.
func readPairs(name string, data []byte) ([]Imported, error) {
	groups := make(map[string][]pair)
	var order []string
	for v, err := range values(data) {
		var row struct {
			Source   string          `json:"source"`
			Method   string          `json:"method"`
			URL      string          `json:"url"`
			Status   int             `json:"status"`
			Request  json.RawMessage `json:"request"`
			Response json.RawMessage `json:"response"`
		}
		if err == nil {
			err = json.Unmarshal(v.raw, &row)
		}
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", name, v.line, err)
		}
		if _, known := groups[row.Source]; !known {
			order = append(order, row.Source)
		}
		groups[row.Source] = append(groups[row.Source], pair{
			method: row.Method, url: row.URL, request: plainText(row.Request), status: row.Status, response: plainText(row.Response),
		})
	}
	var all []Imported
	for _, source := range order {
		imported, err := recording(baseName(strings.ReplaceAll(source, "/", "-")), "pairs", groups[source])
		if err != nil {
			imported = Imported{Notes: []string{err.Error()}}
		}
		all = append(all, imported)
	}
	return all, nil
}

// plainText returns the text of a JSON string, or other JSON unchanged.
func plainText(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	return string(raw)
}
