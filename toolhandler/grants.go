package toolhandler

import (
	"cmp"
	"context"
	"encoding/json"
	"log/slog"
	"maps"
	"path"
	"slices"
	"strings"
	"unicode"

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

// DestinationsOf returns the destination of a call, and the wider ones that hold it.
func DestinationsOf(tool schemas.Tool, arguments string) []Destination {
	return destinations(tool, placesOf(leavesOf(tool, schemaOf(tool), json.RawMessage(arguments))))
}

// destinations returns what an approval of a call may cover, the narrowest first: only its own
// destination if the tool announces itself destructive.
func destinations(tool schemas.Tool, places map[string]string) []Destination {
	all := []Destination{{ID: "exact", Arguments: places}}
	if destroys(tool) {
		return all
	}
	for _, key := range slices.Sorted(maps.Keys(places)) {
		value := places[key]
		if host, clear := hostOf(key, value); host != "" {
			if clear {
				all = append(all, widened(places, key, schemas.WidthHost, host))
			}
			continue
		}
		folder := path.Dir(path.Clean(value))
		for range maxFolders {
			if !isPath(value) || strings.Trim(folder, "./~") == "" {
				break
			}
			all = append(all, widened(places, key, schemas.WidthFolder, folder))
			folder = path.Dir(folder)
		}
	}
	if repository := repositoryOf(places); len(repository) > 0 && len(repository) < len(places) {
		var names []string
		for _, key := range slices.Sorted(maps.Keys(repository)) {
			names = append(names, repository[key])
		}
		all = append(all, Destination{ID: "repository", Width: schemas.WidthRepository, Name: strings.Join(names, "/"), Arguments: repository})
	}
	if len(places) > 0 {
		all = append(all, Destination{ID: "server", Width: schemas.WidthServer, Name: tool.Server, Arguments: map[string]string{}})
	}
	return all
}

// maxFolders is how many folders above a path may be chosen.
const maxFolders = 3

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
	within := func(string, string, string) bool { return false }
	switch g.Width {
	case schemas.WidthServer:
		return true
	case schemas.WidthRepository:
		return len(compared) > 0 && maps.Equal(compared, repositoryOf(places))
	case schemas.WidthHost:
		within = isAt
	case schemas.WidthFolder:
		within = func(_, value, folder string) bool { return isIn(value, folder) }
	case schemas.WidthExact:
	default:
		return false
	}
	var differ []string
	for key, value := range places {
		if granted, ok := compared[key]; !ok || granted != value && !within(key, value, granted) {
			return false
		} else if granted != value {
			differ = append(differ, key)
		}
	}
	return len(compared) == len(places) && len(differ) <= 1 // one is widened, the others are exact
}

// isAt reports whether a value is an address of a host: one without a person's name before the host.
func isAt(key, value, host string) bool {
	named, clear := hostOf(key, value)
	return clear && named == host
}

// isIn reports whether a value is a path in a folder.
func isIn(value, folder string) bool {
	return isPath(value) && strings.HasPrefix(path.Clean(value), folder+"/")
}

// isPath reports whether a value is a path that no program reads as more than one, or as another one.
func isPath(value string) bool {
	return strings.Contains(value, "/") && !slices.Contains(strings.Split(value, "/"), "..") && !strings.ContainsFunc(value, func(r rune) bool {
		return !unicode.In(r, unicode.L, unicode.M, unicode.Nd) && !strings.ContainsRune(" /._-~()+=@", r)
	})
}

// scopes returns the scopes that a person may choose for a call.
func (t *Turn) scopes(r Reason) []Scope {
	if t.grants == nil || r.Rule == RuleConfirm {
		return []Scope{Once}
	}
	return []Scope{Once, InConversation, Always}
}

// granted reports whether standing approvals cover all that a call needs one for.
func (t *Turn) granted(ctx context.Context, tool schemas.Tool, places map[string]string, r Reason) bool {
	return t.grants != nil && r.Rule != RuleConfirm &&
		Granted(t.grants.Granted(ctx), Approval{Tool: tool, Reason: r, Destinations: []Destination{{Arguments: places}}})
}

// Granted reports whether standing approvals cover a call.
func Granted(all []schemas.Grant, a Approval) bool {
	needs := a.Reason.needs()
	if a.Reason.Rule == RuleConfirm || a.Reason.Rule == RuleUnsure || a.Reason.Rule == RuleDeny || len(a.Destinations) == 0 || len(needs) == 0 {
		return false
	}
	return !slices.ContainsFunc(needs, func(from schemas.Origin) bool {
		return !slices.ContainsFunc(all, func(g schemas.Grant) bool {
			return g.From == from && Covers(g, a.Tool.Name, a.Destinations[0].Arguments) && (g.Width == schemas.WidthExact || a.Reason.Rule != RuleDestructive)
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
