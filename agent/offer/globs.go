package offer

import (
	"errors"
	"fmt"
	"path"
	"strings"

	"molar/schemas"
)

// Globs are patterns of the names of tools that a model may call; "!glob" excludes.
type Globs []string

// Check reports the globs that cannot be read.
func (g Globs) Check() error {
	var faults []error
	for _, glob := range g {
		if _, err := path.Match(strings.TrimPrefix(glob, "!"), ""); err != nil {
			faults = append(faults, fmt.Errorf("tools glob %q: %w", glob, err))
		}
	}
	return errors.Join(faults...)
}

// MayCall reports whether the globs allow the tool, by its offered name or the server's name for
// it.
func (g Globs) MayCall(tool schemas.ToolInfo) bool {
	return schemas.MatchGlobs(g, tool.Name, tool.ToolName)
}

// MayNeed reports whether the globs could allow a tool of the server. A glob that does not begin
// with another server's name may match any. The memory server offers no tools; if it is
// unreachable, recall reports that.
func (g Globs) MayNeed(server string) bool {
	if server == schemas.MemoryServer {
		return false
	}
	needed := false
	for _, glob := range g {
		negative := strings.HasPrefix(glob, "!")
		prefix, _, cut := strings.Cut(strings.TrimPrefix(glob, "!"), "__")
		hit := !cut || matches(prefix, server)
		if negative && cut && hit {
			return false
		}
		needed = needed || hit && !negative
	}
	return needed
}

func matches(glob, name string) bool {
	ok, err := path.Match(glob, name)
	return err == nil && ok
}
