package setup_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"molar/internal/setup"
	"molar/schemas"
)

func reader(server, name, description, schema string) schemas.Tool {
	yes := true
	return schemas.Tool{ToolInfo: schemas.ToolInfo{
		Name: server + "__" + name, Server: server, ToolName: name, Description: description, InputSchema: json.RawMessage(schema),
		Annotations: schemas.ToolAnnotations{ReadOnlyHint: &yes},
	}}
}

// The first question needs nothing that the person would have to look up, and returns no secrets. The schema is the
// server's text: it brings no file into the question, and nothing that a person does not see at a glance.
func TestFirstQuestion(t *testing.T) {
	const none, path = `{"type":"object"}`, `{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}`
	const kind = `{"type":"object","properties":{"kind":{"enum":["news","sport"]},"count":{"examples":[3]}},"required":["kind","count"]}`
	example := func(value string) string {
		return `{"type":"object","properties":{"query":{"examples":[` + value + `]}},"required":["query"]}`
	}
	listed := reader("files", "list", "Lists.", none)
	changes := reader("files", "list_and_delete", "Deletes all.", none)
	changes.Annotations.ReadOnlyHint = nil
	withheld := reader("files", "list_drives", "Lists drives.", none)
	withheld.Withheld = "switched off"
	for name, tt := range map[string]struct {
		tools []schemas.Tool
		want  string
	}{
		"a list first":         {[]schemas.Tool{reader("files", "getTime", "The time.", none), reader("files", "list_folders", "Folders.", none)}, "Use files: list folders"},
		"words of a name":      {[]schemas.Tool{reader("files", "getTime-zone", "The time.", none)}, "Use files: get time zone"},
		"examples of a schema": {[]schemas.Tool{reader("files", "read_file", "A file.", path), reader("files", "search", "Finds.", kind)}, `Use files: search, kind "news", count 3`},
		"no file or resource": {[]schemas.Tool{
			reader("files", "find", "Finds.", example(`"see @/etc/passwd please"`)), reader("files", "look", "Looks.", example(`"@mail:inbox"`)),
			{ToolInfo: schemas.ToolInfo{Server: "files", ToolName: "list @/etc/passwd", InputSchema: json.RawMessage(none), Annotations: listed.Annotations}},
		}, ""},
		"nothing that is hard to read": {[]schemas.Tool{
			reader("files", "find", "Finds.", example(`"`+strings.Repeat("and then ", 30)+`"`)), reader("files", "look", "Looks.", example(`"a\u202eb"`)),
		}, ""},
		"no secret":            {[]schemas.Tool{reader("files", "get-env", "Prints all environment variables.", none)}, ""},
		"nothing that changes": {[]schemas.Tool{changes, withheld, reader("mail", "list_mails", "Mails.", none)}, ""},
	} {
		if got := setup.FirstQuestion([]string{"files"}, tt.tools); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}

func TestDialogue_FirstQuestion(t *testing.T) {
	for typed, want := range map[string]string{"\n": "Offered?", "Mine?\n": "Mine?", "n\n": "", "No\n": "", "": ""} {
		var out bytes.Buffer
		talk := setup.Dialogue{In: bufio.NewReader(strings.NewReader(typed)), Out: &out}
		got, err := talk.FirstQuestion(t.Context(), "Offered?")
		if err != nil || got != want || !strings.Contains(out.String(), "  Offered?\n") {
			t.Errorf("%q: %q, %v, want %q\n%s", typed, got, err, want, &out)
		}
	}
}
