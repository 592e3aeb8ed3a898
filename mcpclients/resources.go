package mcpclients

import (
	"context"
	"encoding/json"
	"fmt"

	"molar/schemas"
)

const methodReadResource = "resources/read"

// Resource reads a server's resource for who asks: its text, cut at the limit of tool results, and its media.
// It is an error if there is neither.
func (m *Manager) Resource(ctx context.Context, who schemas.Caller, server, uri string) (string, []schemas.Part, error) {
	var answer json.RawMessage
	if err := m.requestFor(ctx, who, server, methodReadResource, map[string]string{"uri": uri}, &answer); err != nil {
		return "", nil, fmt.Errorf("resource %q: %w", uri, err)
	}
	text, media, err := readResource(answer, DefaultMaxResult)
	if err != nil {
		return "", nil, fmt.Errorf("resource %q of server %q %w", uri, server, err)
	}
	return text, media, nil
}
