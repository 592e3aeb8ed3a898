package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// maxAnswer is the longest answer that is read from the catalogue, in bytes.
const maxAnswer = 4 << 20

// A catalogue asks the search API of a GeoNetwork 4: one POST to /srv/api/search/
// records/_search, whose body and answer are Elasticsearch's.
type catalogue struct {
	base    string // without a slash at its end
	timeout time.Duration
	client  *http.Client
}

func newCatalogue(base string, timeout time.Duration, client *http.Client) (*catalogue, error) {
	u, err := url.Parse(base)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || u.RawQuery != "" {
		return nil, fmt.Errorf("the catalogue %q is not an address such as %s", base, defaultCatalogue)
	}
	if timeout <= 0 {
		return nil, errors.New("the timeout must be above zero")
	}
	return &catalogue{strings.TrimRight(u.String(), "/"), timeout, client}, nil
}

// A page is a part of the results of a search.
type page struct {
	Total   int      `json:"total"`
	Records []record `json:"records"`
}

// search finds records by words in any of their fields; those in the title count most.
func (c *catalogue) search(ctx context.Context, words string, size int) (page, error) {
	return c.records(ctx, map[string]any{"query_string": map[string]any{
		"query":            escapeQuery(words),
		"fields":           []string{"any.*", "resourceTitleObject.*^10", "tag.*^5", "resourceAbstractObject.*^3"},
		"default_operator": "AND",
		"lenient":          true,
	}}, size)
}

// get returns the record with an id, and false if it does not exist.
func (c *catalogue) get(ctx context.Context, id string) (record, bool, error) {
	found, err := c.records(ctx, map[string]any{"terms": map[string]any{"uuid": []string{id}}}, 1)
	if err != nil || len(found.Records) == 0 {
		return record{}, false, err
	}
	return found.Records[0], true, nil
}

func (c *catalogue) records(ctx context.Context, query map[string]any, size int) (page, error) {
	var answer searchAnswer
	if err := c.post(ctx, map[string]any{
		"from": 0, "size": size, "track_total_hits": true,
		"query": map[string]any{"bool": map[string]any{
			"must":   query,
			"filter": map[string]any{"term": map[string]any{"isTemplate": "n"}},
		}},
		"_source": recordFields(),
	}, &answer); err != nil {
		return page{}, err
	}
	p := page{Total: answer.Hits.Total.Value, Records: []record{}}
	for _, hit := range answer.Hits.Hits {
		p.Records = append(p.Records, hit.record(c.base))
	}
	return p, nil
}

// A tagCount is a keyword and how many records have it.
type tagCount struct {
	Tag     string `json:"tag"`
	Records int    `json:"records"`
}

// tags returns the keywords that most records have.
func (c *catalogue) tags(ctx context.Context, size int) ([]tagCount, error) {
	var answer struct {
		Aggregations struct {
			Tags struct {
				Buckets []struct {
					Key   string `json:"key"`
					Count int    `json:"doc_count"`
				} `json:"buckets"`
			} `json:"tags"`
		} `json:"aggregations"`
	}
	if err := c.post(ctx, map[string]any{
		"size":  0,
		"query": map[string]any{"term": map[string]any{"isTemplate": "n"}},
		"aggs":  map[string]any{"tags": map[string]any{"terms": map[string]any{"field": "tag.default", "size": size}}},
	}, &answer); err != nil {
		return nil, err
	}
	tags := []tagCount{}
	for _, b := range answer.Aggregations.Tags.Buckets {
		tags = append(tags, tagCount{b.Key, b.Count})
	}
	return tags, nil
}

// post sends a search and reads its answer. Its errors are sentences for people.
func (c *catalogue) post(ctx context.Context, body map[string]any, answer any) error {
	ctx, cancel := context.WithTimeoutCause(ctx, c.timeout, fmt.Errorf("the catalogue did not answer within %s; try again later", c.timeout))
	defer cancel()
	data, err := json.Marshal(body)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base+"/srv/api/search/records/_search", bytes.NewReader(data))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	resp, err := c.client.Do(req)
	if err != nil {
		return c.explain(ctx, err)
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	if err != nil {
		return c.explain(ctx, err)
	}
	return readAnswer(resp, text, answer)
}

// explain describes a failed exchange in words for people.
func (c *catalogue) explain(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if inner, ok := errors.AsType[*url.Error](err); ok {
		err = inner.Err
	}
	return fmt.Errorf("the catalogue at %s cannot be reached: %w", c.base, err)
}

// readAnswer accepts only JSON: during maintenance, a catalogue may answer with a web page
// and status 200.
func readAnswer(resp *http.Response, text []byte, answer any) error {
	kind, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	isPage := err == nil && kind == "text/html" || bytes.HasPrefix(bytes.TrimSpace(text), []byte("<"))
	switch {
	case resp.StatusCode != http.StatusOK:
		return fmt.Errorf("the catalogue answered with status %d; %s", resp.StatusCode, advice(resp.StatusCode))
	case len(text) > maxAnswer:
		return fmt.Errorf("the catalogue's answer is longer than %d MiB; ask for fewer records", maxAnswer>>20)
	case isPage:
		return errors.New("the catalogue answered with a web page instead of data; it may be down for maintenance, or its address is wrong")
	}
	if err := json.Unmarshal(text, answer); err != nil {
		return errors.New("the catalogue's answer cannot be read; its address may be wrong, or its version not 4")
	}
	return nil
}

func advice(status int) string {
	switch {
	case status == http.StatusNotFound:
		return "its address may be wrong"
	case status == http.StatusTooManyRequests:
		return "it asks for a pause"
	case status >= http.StatusInternalServerError:
		return "try again later"
	}
	return "ask in simpler words"
}

// escapeQuery escapes the operators of the query language, because people write plain
// words.
func escapeQuery(words string) string {
	var b strings.Builder
	for _, r := range words {
		switch {
		case r == '<' || r == '>': // they cannot be escaped
			continue
		case strings.ContainsRune(`+-=&|!(){}[]^"~*?:\/`, r):
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	fields := strings.Fields(b.String())
	for i, f := range fields {
		if f == "AND" || f == "OR" || f == "NOT" {
			fields[i] = strings.ToLower(f)
		}
	}
	return strings.Join(fields, " ")
}
