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

// DestinationsOf returns what an approval of a call may cover, the narrowest first: its own destination,
// and the wider ones that hold it unless the tool announces itself destructive.
func DestinationsOf(tool schemas.Tool, arguments string) []Destination {
	return destinations(tool, actionOf(tool, schemaOf(tool), arguments).places)
}

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

// covers reports whether a standing approval is about a tool's calls to a destination.
func covers(g schemas.Grant, tool string, places map[string]string) bool {
	compared := make(map[string]string)
	if g.Tool != tool || json.Unmarshal(g.Arguments, &compared) != nil {
		return false
	}
	switch g.Width {
	case schemas.WidthServer:
		return true
	case schemas.WidthRepository:
		return len(compared) > 0 && maps.Equal(compared, repositoryOf(places))
	case schemas.WidthExact, schemas.WidthHost, schemas.WidthFolder:
	default:
		return false
	}
	differ := 0
	for key, value := range places {
		granted, ok := compared[key]
		if !ok || granted != value && !holds(g.Width, granted, key, value) {
			return false
		} else if granted != value {
			differ++
		}
	}
	return len(compared) == len(places) && differ <= 1 // one is widened, the others are exact
}

// holds reports whether a host or a folder holds the value of an argument. An address with a person's
// name before the host is not clearly of its host.
func holds(width schemas.Width, place, key, value string) bool {
	switch width {
	case schemas.WidthHost:
		host, clear := hostOf(key, value)
		return clear && host == place
	case schemas.WidthFolder:
		return isPath(value) && strings.HasPrefix(path.Clean(value), place+"/")
	}
	return false
}

// isPath reports whether a value is a path that no program reads as more than one, or as another one.
func isPath(value string) bool {
	return strings.Contains(value, "/") && !slices.Contains(strings.Split(value, "/"), "..") && !strings.ContainsFunc(value, func(r rune) bool {
		return !unicode.In(r, unicode.L, unicode.M, unicode.Nd) && !strings.ContainsRune(" /._-~()+=@", r)
	})
}

// scopes returns the scopes that a person may choose for a call.
func (t *Turn) scopes(r Reason) []Scope {
	if t.cfg.Grants == nil || len(r.needs()) == 0 {
		return []Scope{Once}
	}
	return []Scope{Once, InConversation, Always}
}

// Granted reports whether standing approvals cover all that a call needs one for.
func Granted(all []schemas.Grant, a Approval) bool {
	needs := a.Reason.needs()
	return len(needs) > 0 && len(a.Destinations) > 0 && !slices.ContainsFunc(needs, func(from schemas.Origin) bool {
		return !slices.ContainsFunc(all, func(g schemas.Grant) bool {
			return g.From == from && covers(g, a.Tool.Name, a.Destinations[0].Arguments) && (g.Width == schemas.WidthExact || a.Reason.Rule != RuleDestructive)
		})
	})
}

// granted is Granted by what counts in the turn.
func (t *Turn) granted(ctx context.Context, a Approval) bool {
	return t.cfg.Grants != nil && Granted(t.cfg.Grants.Granted(ctx), a)
}

// grant stores an approval beyond the call.
func (t *Turn) grant(ctx context.Context, a Approval, d Decision) {
	if d.Scope == "" || d.Scope == Once || !slices.Contains(a.Scopes, d.Scope) {
		return
	}
	to := a.Destinations[max(0, a.chosen(d))]
	for _, g := range a.grants(to) {
		if err := t.cfg.Grants.Grant(ctx, g, d.Scope); err != nil {
			t.h.log.Warn("the approval of later calls could not be stored", slog.String("tool", a.Tool.Name), slog.Any("error", err))
		}
	}
}

// CoversToo reports whether a decision about an approval also covers another call of its turn.
func (a Approval) CoversToo(d Decision, other Approval) bool {
	i := a.chosen(d)
	return i >= 0 && Granted(a.grants(a.Destinations[i]), other)
}

// chosen returns which destination a person decided about, -1 if it is none of the call's.
func (a Approval) chosen(d Decision) int {
	return slices.IndexFunc(a.Destinations, func(to Destination) bool { return to.ID == cmp.Or(d.Destination, "exact") })
}

// grants returns standing approvals for each thing that the call needs one for.
func (a Approval) grants(to Destination) []schemas.Grant {
	var all []schemas.Grant
	for _, from := range a.Reason.needs() {
		all = append(all, to.Grant(a.Tool.Name, from))
	}
	return all
}
