package main

import (
	"net/http"
	"regexp"
	"strings"
	"testing"
)

// A scraper uses an address that no configuration names: it is accepted with a key, and without
// one on the port of the metrics, which serves nothing else.
func TestServe_Scrape(t *testing.T) {
	t.Parallel()
	config := plainConfig(t, "metrics: {listen: \"127.0.0.1:0\"}\n")
	key := makeKeyFor(t, config, "prom", "metrics")
	s := serveHost(t, config, nil)
	text := s.stdout.wait(t, "server: tool-server", make(chan struct{}))
	own := regexp.MustCompile(`http://\S+:\d+/metrics`).FindString(text)
	cases := []struct {
		url, host, key string
		want           int
	}{
		{s.url + "/metrics", "10.1.2.3:8000", key, http.StatusOK},
		{s.url + "/metrics", "10.1.2.3:8000", "molar_made_up", http.StatusUnauthorized},
		{s.url + "/metrics", "10.1.2.3:8000", "", http.StatusForbidden},
		{s.url + "/v1/models", "10.1.2.3:8000", key, http.StatusForbidden},
		{own, "10.1.2.3:9464", "", http.StatusOK},
		{strings.Replace(own, "/metrics", "/ready", 1), "10.1.2.3:9464", "", http.StatusOK},
		{strings.Replace(own, "/metrics", "/v1/models", 1), "10.1.2.3:9464", "", http.StatusNotFound},
	}
	for _, c := range cases {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, c.url, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		req.Host = c.host
		if c.key != "" {
			req.Header.Set("Authorization", "Bearer "+c.key)
		}
		res, err := s.client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != c.want {
			t.Errorf("GET %s as %s with key %q: %d, want %d", c.url, c.host, c.key, res.StatusCode, c.want)
		}
	}
}
