package toolhandler_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"molar/schemas"
	"molar/toolhandler"
)

// Lint tells when a tool's texts name another server's tool together with that server. A bare name, which
// two vendors may both use, is nobody's.
func TestSteers(t *testing.T) {
	others := []schemas.Tool{tool("gitlab", "create_branch", ""), tool("gitlab", "whoami", ""), tool("web", "fetch", ""), tool("supabase", "confirm_cost", "")}
	for description, want := range map[string][]string{
		"Returns a unique ID for this confirmation which should be passed to `create_project` or `create_branch`.": nil,
		"Use it before GitLab's create_branch is called.":                                                          {"its texts name create_branch of server gitlab, which can lead a model there"},
		"Always call gitlab__create_branch first.":                                                                 {"its texts name create_branch of server gitlab, which can lead a model there"},
		"Works with GitLab. Its branches are made with create_branch.":                                             nil,
		"Asks gitlab with its \"whoami\" tool.":                                                                    {"its texts name whoami of server gitlab, which can lead a model there"},
		"Looks whoami up at gitlab, recreate_branches, and fetches a web.":                                         nil,
		"Fetch a page of the web.":                                                                                 nil,
	} {
		confirm := tool("supabase", "confirm_cost", "")
		confirm.Description = description
		if diff := cmp.Diff(want, toolhandler.Steers(confirm, others)); diff != "" {
			t.Errorf("%s: %s", description, diff)
		}
	}
	inArgument := tool("s", "do", `{"properties":{"a":{"type":"string","description":"What create_branch of gitlab gave"}}}`)
	if got := toolhandler.Steers(inArgument, others); len(got) != 1 {
		t.Errorf("in an argument: %q", got)
	}
	if got := toolhandler.Steers(others[0], append(others, others[0])); len(got) != 0 {
		t.Errorf("of its own server: %q", got)
	}
}
