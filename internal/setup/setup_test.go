package setup_test

import (
	"bufio"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"molar/internal/setup"
)

func TestAskNamesOfServers(t *testing.T) {
	var out strings.Builder
	talk := setup.Dialogue{In: bufio.NewReader(strings.NewReader("1\nđèn=node a.js\nmemory-server=node a.js\nlamp=node a.js\n\n1\n")), Out: &out}
	choices, err := talk.Ask(t.Context(), setup.Inventory{Models: []setup.Model{{Label: "a model"}}})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"lamp=node a.js"}, choices.Servers); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, want := range []string{"want a name of letters", `"memory-server" is the name of a bundled server`} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in\n%s", want, out.String())
		}
	}
}
