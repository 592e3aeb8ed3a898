package cassettes

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	"molar/internal/text"
)

// readHTTPRR reads a recording of httprr: a header line, then the lengths of each request
// and response, and their bytes.
func readHTTPRR(name string, data []byte) ([]Exchange, error) {
	header, rest, ok := bytes.Cut(data, []byte("\n"))
	if !ok || !strings.HasPrefix(string(header), "httprr trace v1") {
		return nil, fmt.Errorf("%s:1: no recording of httprr: it begins with %q", name, text.Clip(string(header), longestQuote, "…"))
	}
	var exchanges []Exchange
	for len(bytes.TrimSpace(rest)) > 0 {
		at := 1 + bytes.Count(data[:len(data)-len(rest)], []byte("\n"))
		lengths, after, ok := bytes.Cut(rest, []byte("\n"))
		a, b, found := strings.Cut(string(lengths), " ")
		n, err1 := strconv.Atoi(a)
		m, err2 := strconv.Atoi(strings.TrimSpace(b))
		if !ok || !found || err1 != nil || err2 != nil || n < 0 || m < 0 || n > len(after) || m > len(after)-n {
			return nil, fmt.Errorf("%s:%d: want the lengths of a request and a response, got %q", name, at, text.Clip(string(lengths), longestQuote, "…"))
		}
		e, err := parseHTTP(after[:n], after[n:n+m])
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", name, at, err)
		}
		exchanges = append(exchanges, e)
		rest = after[n+m:]
	}
	return exchanges, nil
}

// parseHTTP parses a request and a response in HTTP's wire format.
func parseHTTP(request, response []byte) (Exchange, error) {
	req, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(request)))
	if err != nil {
		return Exchange{}, fmt.Errorf("request: %w", err)
	}
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return Exchange{}, fmt.Errorf("request: %w", err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(response)), req)
	if err != nil {
		return Exchange{}, fmt.Errorf("response: %w", err)
	}
	defer func() { _ = resp.Body.Close() }() // it is in memory
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		return Exchange{}, fmt.Errorf("response: %w", err)
	}
	plain, err := gunzip(string(answer))
	if err != nil {
		return Exchange{}, fmt.Errorf("response: %w", err)
	}
	return Exchange{Method: req.Method, URL: req.URL.String(), Request: string(body), Status: resp.StatusCode, Header: resp.Header, Response: plain}, nil
}
