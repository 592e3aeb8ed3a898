package toolhandler

import (
	"cmp"
	"context"
	"encoding/json"
	"log/slog"
	"maps"
	"net/url"
	"path"
	"slices"
	"strings"

	"molar/schemas"
)

// A Scope is the reach of a person's approval.
type Scope string

// The scopes.
const (
	Once           Scope = "once"
	InConversation Scope = "conversation"
	Always         Scope = "always"
)

// Grants stores approvals beyond one call.
type Grants interface {
	// Granted returns the standing approvals that count in the turn.
	Granted(ctx context.Context) []schemas.Grant
	Grant(ctx context.Context, g schemas.Grant, scope Scope) error
}

// A Destination is what a standing approval may cover: the call's own destination, or a wider one
// that holds it.
type Destination struct {
	// ID identifies it among those of a call.
	ID    string        `json:"id"`
	Width schemas.Width `json:"width"`
	// Name is what the wider destination is called: the host, the folder, the repository, the server.
	Name string `json:"name,omitempty"`
	// Arguments are the compared arguments, by path.
	Arguments map[string]string `json:"arguments"`
}

// Grant returns the standing approval of a tool's calls to a destination, with text of an origin.
func (d Destination) Grant(tool string, from schemas.Origin) schemas.Grant {
	compared, _ := json.Marshal(d.Arguments) //nolint:errchkjson // strings marshal
	return schemas.Grant{Tool: tool, From: from, Width: d.Width, Arguments: compared}
}

// destinations returns what an approval of a call may cover, the narrowest first.
func destinations(tool schemas.Tool, leaves []leaf) []Destination {
	places := placesOf(leaves)
	all := []Destination{{ID: "exact", Arguments: places}}
	repository := map[string]string{}
	for _, key := range slices.Sorted(maps.Keys(places)) {
		value := places[key]
		if isRepository(key) {
			repository[key] = value
		}
		if host := hostOf(value); host != "" {
			all = append(all, widened(places, key, schemas.WidthHost, host))
			continue
		}
		folder := path.Clean(value)
		for range maxFolders {
			up := path.Dir(folder)
			if up == folder || up == "." || up == "/" || up == ".." || strings.HasPrefix(up, "../") {
				break
			}
			folder = up
			all = append(all, widened(places, key, schemas.WidthFolder, folder))
		}
	}
	if len(repository) > 0 && len(repository) < len(places) {
		name := strings.Join(slices.Collect(valuesInOrder(repository)), "/")
		all = append(all, Destination{ID: "repository", Width: schemas.WidthRepository, Name: name, Arguments: repository})
	}
	if len(places) > 0 {
		all = append(all, Destination{ID: "server", Width: schemas.WidthServer, Name: tool.Server, Arguments: map[string]string{}})
	}
	return all
}

// maxFolders is how many folders above a path may be chosen.
const maxFolders = 3

func valuesInOrder(m map[string]string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for _, key := range slices.Sorted(maps.Keys(m)) {
			if !yield(m[key]) {
				return
			}
		}
	}
}

// widened returns a destination with one argument replaced by what holds it.
func widened(places map[string]string, key string, width schemas.Width, name string) Destination {
	wide := maps.Clone(places)
	wide[key] = name
	return Destination{ID: string(width) + " " + key + " " + name, Width: width, Name: name, Arguments: wide}
}

// Covers reports whether a standing approval is about a tool's calls to a destination.
func Covers(g schemas.Grant, tool string, places map[string]string) bool {
	compared := make(map[string]string)
	if g.Tool != tool || json.Unmarshal(g.Arguments, &compared) != nil {
		return false
	}
	switch g.Width {
	case schemas.WidthServer:
		return true
	case schemas.WidthRepository:
		return len(compared) > 0 && !slices.ContainsFunc(slices.Collect(maps.Keys(compared)), func(key string) bool { return places[key] != compared[key] })
	case schemas.WidthExact, schemas.WidthHost, schemas.WidthFolder:
	default:
		return false
	}
	if len(compared) != len(places) {
		return false
	}
	for key, value := range places {
		granted, ok := compared[key]
		if !ok || granted != value && !(g.Width == schemas.WidthHost && isAt(value, granted) || g.Width == schemas.WidthFolder && isIn(value, granted)) {
			return false
		}
	}
	return true
}

// isAt reports whether a value is an address of a host: one without a person's name before the host.
func isAt(value, host string) bool {
	if u, err := url.Parse(value); err == nil && u.User != nil {
		return false
	}
	return hostOf(value) == host
}

// isIn reports whether a value is a path in a folder.
func isIn(value, folder string) bool {
	return !strings.Contains(value, "\\") && strings.HasPrefix(path.Clean(value), folder+"/")
}

// scopes returns the scopes that a person may choose for a call.
func (t *Turn) scopes(r Reason) []Scope {
	if t.grants == nil || r.Rule == RuleConfirm {
		return []Scope{Once}
	}
	return []Scope{Once, InConversation, Always}
}

// granted reports whether standing approvals cover all that a call needs one for.
func (t *Turn) granted(ctx context.Context, tool schemas.Tool, leaves []leaf, r Reason) bool {
	return t.grants != nil && r.Rule != RuleConfirm &&
		Granted(t.grants.Granted(ctx), Approval{Tool: tool, Reason: r, Destinations: []Destination{{Arguments: placesOf(leaves)}}})
}

// Granted reports whether standing approvals cover a call.
func Granted(all []schemas.Grant, a Approval) bool {
	if a.Reason.Rule == RuleConfirm || a.Reason.Rule == RuleUnsure || len(a.Destinations) == 0 {
		return false
	}
	return !slices.ContainsFunc(a.Reason.needs(), func(from schemas.Origin) bool {
		return !slices.ContainsFunc(all, func(g schemas.Grant) bool {
			return g.From == from && Covers(g, a.Tool.Name, a.Destinations[0].Arguments)
		})
	})
}

// grant stores an approval beyond the call, for each thing that the call needs it for.
func (t *Turn) grant(ctx context.Context, a Approval, d Decision) {
	if d.Scope == "" || d.Scope == Once || !slices.Contains(a.Scopes, d.Scope) {
		return
	}
	to := a.Destinations[0]
	if i := slices.IndexFunc(a.Destinations, func(wide Destination) bool { return wide.ID == d.Destination }); i > 0 {
		to = a.Destinations[i]
	}
	for _, from := range a.Reason.needs() {
		if err := t.grants.Grant(ctx, to.Grant(a.Tool.Name, from), d.Scope); err != nil {
			t.h.log.Warn("the approval of later calls could not be stored", slog.String("tool", a.Tool.Name), slog.Any("error", err))
		}
	}
}

// CoversToo reports whether a decision about an approval also covers another call of its turn.
func (a Approval) CoversToo(d Decision, other Approval) bool {
	for _, to := range a.Destinations {
		if to.ID != cmp.Or(d.Destination, "exact") || len(other.Destinations) == 0 {
			continue
		}
		var given []schemas.Grant
		for _, from := range a.Reason.needs() {
			given = append(given, to.Grant(a.Tool.Name, from))
		}
		return Granted(given, other)
	}
	return false
}
