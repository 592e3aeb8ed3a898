package agent

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"molar/internal/text"
	"molar/schemas"
	"molar/toolhandler"
)

// maxWithout bounds the list of [ServerTools.Without].
const maxWithout = 128

// checkWithout refuses a turn that leaves out a tool which is not there: a wrong name would leave the
// tool in. The tools of a server that does not list any now are not there anyway.
func (a *Agent) checkWithout(ctx context.Context, t *Turn) error {
	if len(t.Without) == 0 || t.Resumed != nil {
		return nil
	}
	if len(t.Without) > maxWithout {
		return fmt.Errorf("%w: it lists %d tools, and %d are the most; use globs such as server__*", ErrWithout, len(t.Without), maxWithout)
	}
	for _, glob := range t.Without {
		if server, _, _ := strings.Cut(glob, "__"); t.mayNeed(server) {
			a.tools.AwaitNamed(ctx, server)
		}
	}
	var names []string
	listed := map[string]bool{}
	for _, tool := range a.cfg.Tools.Tools() {
		listed[tool.Server] = true
		if t.Rights.Tool(tool.ToolInfo) { // others are not named to this person
			names = append(names, tool.Name)
		}
	}
	for _, glob := range t.Without {
		if err := a.checkLeftOut(t, glob, names, listed); err != nil {
			return err
		}
	}
	return nil
}

func (a *Agent) checkLeftOut(t *Turn, glob string, names []string, listed map[string]bool) error {
	if _, err := path.Match(glob, ""); err != nil || strings.HasPrefix(glob, "!") {
		return fmt.Errorf("%w: %q is not a tool's name or a glob of names such as server__*", ErrWithout, glob)
	}
	if slices.ContainsFunc(names, func(name string) bool { return schemas.MatchGlobs([]string{glob}, name) }) {
		return nil
	}
	server, _, _ := strings.Cut(glob, "__")
	isThere := func(s schemas.ServerStatus) bool { return s.Name == server && !listed[server] }
	if t.mayNeed(server) && slices.ContainsFunc(a.cfg.Tools.Status(), isThere) {
		return nil
	}
	advice := "GET /v1/tools and molar tools list name them"
	if near := text.Nearest(glob, names); near != "" {
		advice = fmt.Sprintf("do you mean %q?", near)
	}
	return fmt.Errorf("%w: no tool is called %q; %s", ErrWithout, glob, advice)
}

// searches returns the assistant's search list without the tools that the turn leaves out, and for a visitor
// without those that may write.
func (a *Agent) searches(w *task) []string {
	if len(w.turn.Without) == 0 && !w.turn.Visitor {
		return w.assistant.Search
	}
	return slices.DeleteFunc(slices.Clone(w.assistant.Search), func(name string) bool {
		tool, there := a.search.tool(name)
		return there && (schemas.MatchGlobs(w.turn.Without, tool.Name) || w.turn.Visitor && toolhandler.ForVisitors(tool) != "")
	})
}
