package mcpclients

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

const (
	methodReadResource  = "resources/read"
	methodListResources = "resources/list"
	// maxResources is how many resources of a server are listed, resourcesWait how long
	// that may take.
	maxResources  = 500
	resourcesWait = 2 * time.Second
)

// Resource reads the text of a server's resource, cut at the limit of tool results.
// One that holds no text is an error.
func (m *Manager) Resource(ctx context.Context, server, uri string) (string, error) {
	s, err := m.server(server)
	if err != nil {
		return "", err
	}
	var answer struct {
		Contents []struct {
			Text     *string `json:"text"`
			Blob     string  `json:"blob"`
			MIMEType string  `json:"mimeType"`
		} `json:"contents"`
	}
	if err := m.Request(ctx, server, methodReadResource, map[string]string{"uri": uri}, &answer); err != nil {
		return "", fmt.Errorf("resource %q: %w", uri, err)
	}
	var texts []string
	kinds := ""
	for _, c := range answer.Contents {
		switch {
		case c.Text != nil:
			texts = append(texts, *c.Text)
		case textual(c.MIMEType):
			if data, err := base64.StdEncoding.DecodeString(c.Blob); err == nil && utf8.Valid(data) {
				texts = append(texts, string(data))
			}
		default:
			kinds = " but " + visible(c.MIMEType)
		}
	}
	if len(texts) == 0 {
		return "", fmt.Errorf("resource %q of server %q holds no text%s; choose another", uri, server, kinds)
	}
	return cutText(strings.ToValidUTF8(strings.Join(texts, "\n"), "\uFFFD"), s.settled.maxResult), nil
}

func textual(mime string) bool {
	return strings.HasPrefix(mime, "text/") || strings.HasPrefix(mime, "application/json")
}

// Resources lists the addresses of a server's resources, for those who complete them.
// A server that has none, or is slow to tell, has none here.
func (m *Manager) Resources(ctx context.Context, server string) []string {
	ctx, cancel := context.WithTimeout(ctx, resourcesWait)
	defer cancel()
	var all []string
	for cursor := ""; len(all) < maxResources; {
		params := struct {
			Cursor string `json:"cursor,omitempty"`
		}{cursor}
		var page struct {
			Resources []struct {
				URI string `json:"uri"`
			} `json:"resources"`
			NextCursor string `json:"nextCursor"`
		}
		var raw json.RawMessage
		if m.Request(ctx, server, methodListResources, params, &raw) != nil || json.Unmarshal(raw, &page) != nil {
			break
		}
		for _, r := range page.Resources {
			if r.URI != "" && r.URI == visible(r.URI) && !strings.ContainsAny(r.URI, " \t\n") {
				all = append(all, r.URI)
			}
		}
		if page.NextCursor == "" || page.NextCursor == cursor {
			break
		}
		cursor = page.NextCursor
	}
	slices.Sort(all)
	return slices.Compact(all[:min(len(all), maxResources)])
}
