package prompts_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"molar/agent/prompts"
	"molar/schemas"
	"molar/toolhandler"
)

// declared returns a tool with a schema of texts.
func declared(server, name string, arguments ...string) schemas.Tool {
	properties := map[string]any{}
	for _, a := range arguments {
		properties[a] = map[string]string{"type": "string"}
	}
	schema, _ := json.Marshal(map[string]any{"type": "object", "properties": properties})
	return schemas.Tool{ToolInfo: schemas.ToolInfo{Server: server, ToolName: name, Name: server + "__" + name, InputSchema: schema}}
}

// A person who sees only the question knows what would happen, why it asks and where it goes: the last
// call of thirty everyday tasks, in both languages. To read: testdata/asked.golden.
func TestAsk_everyday(t *testing.T) {
	f, err := os.Open("../../internal/testkit/attacks/testdata/tasks.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var got strings.Builder
	n := 0
	for lines := bufio.NewScanner(f); lines.Scan(); n++ {
		var task struct {
			Text  string
			Calls []string
			Args  []json.RawMessage
		}
		if err := json.Unmarshal(lines.Bytes(), &task); err != nil {
			t.Fatal(err)
		}
		last := len(task.Calls) - 1
		server, name, _ := strings.Cut(task.Calls[last], "__")
		var arguments map[string]any
		if err := json.Unmarshal(task.Args[last], &arguments); err != nil {
			t.Fatal(err)
		}
		var names []string
		for a := range arguments {
			names = append(names, a)
		}
		tool := declared(server, name, names...)
		tool.Description = map[string]string{
			"append_file": "Adds text at the end of a file.", "write_file": "Writes a text to a file; an existing file is overwritten.",
			"move_file": "Moves or renames a file.", "delete_folder": "Deletes a folder with everything in it.",
			"get_file_info": "Tells the size, the kind and the dates of a file.", "read_file": "Returns the content of a file as text.",
			"search_files": "Searches a folder, and those inside it, for files whose name fits a pattern.",
			"book_visit":   "Puts an appointment into the calendar of the office.", "move_visit": "Moves an appointment to another time.",
			"cancel_visit": "Cancels an appointment.", "list_visits": "Lists the appointments between two times.",
			"send_mail": "Sends a mail, or a message to a channel.", "mark_read": "Marks mails as read.", "add_contact": "Adds a person to the address book.",
			"get_mail": "Returns a mail: the one with an id, or the newest of a sender.", "search_records": "Searches the records of the stock.",
		}[name]
		reason := toolhandler.Reason{Rule: toolhandler.RuleOrder, Orders: []schemas.Origin{"mail", schemas.FileOrigin("letter.pdf")}}
		if class, _ := toolhandler.Classify(tool); class == toolhandler.Reads {
			reason = toolhandler.Reason{Rule: toolhandler.RuleFlow, Flows: []schemas.Origin{"mail"}}
		} else if n%3 == 1 {
			reason = toolhandler.Reason{Rule: toolhandler.RuleFlow, Orders: []schemas.Origin{"mail"}, Flows: []schemas.Origin{"mail"}}
		}
		tool.Rules.Marks.Closed = server != "mail" && server != "sdi"
		if strings.HasPrefix(name, "delete") {
			reason = toolhandler.Reason{Rule: toolhandler.RuleDestructive}
		}
		reason.Records = map[string][]string{
			"v3": {"2026-11-24T15:00", "bring the plans", "Linda"}, "v4": {"2026-11-24T09:30", "bảo hiểm"},
			"m11": {"news@shop.example", "Offers of the week"}, "m12": {"letter@museum.example", "New in the museum"},
		}
		fmt.Fprintf(&got, "# %s\n", task.Text)
		for _, lang := range []string{"en", "vi"} {
			q := prompts.Ask(prompts.AskInput{Language: lang, Tool: tool, Arguments: string(task.Args[last]), Reason: reason})
			fmt.Fprintf(&got, "%s: %s | %s | %s\n", lang, q.What, q.Why, q.Where)
			for _, values := range arguments {
				v, ok := values.(string)
				if _, hour, isTime := strings.Cut(v, "T"); isTime && len(v) == len("2006-01-02T15:04") {
					v = hour // the date is written as people do
				}
				if v == "day" && lang == "vi" {
					v = "ngày"
				}
				if ok && v != "" && len(v) < 40 && !strings.Contains(v, "\n") && !strings.Contains(q.What, v) {
					t.Errorf("%s: %q says nothing of %q", task.Calls[last], q.What, v)
				}
			}
		}
	}
	if n != 30 {
		t.Errorf("%d tasks", n)
	}
	checkGolden(t, "asked.golden", got.String())
}

// Values of a call are written for a person, and never so that they seem to be other ones.
func TestAsk_values(t *testing.T) {
	tool := declared("mail", "send_mail", "to", "at", "pattern", "body")
	for arguments, want := range map[string]string{
		`{"at":"2026-05-01"}`:                         "Send mail on Friday 1 May 2026.",
		`{"at":"2026-05-01T08:00:00Z"}`:               "Send mail on Friday 1 May 2026 at 08:00 (UTC+00:00).",
		`{"at":"2026-05-01T08:00:05+07:00"}`:          "Send mail on Friday 1 May 2026 at 08:00:05 (UTC+07:00).",
		`{"at":"2026-05-01 or later"}`:                "Send mail at “2026-05-01 or later”.",
		`{"body":"2026-05-01"}`:                       "Send mail; body: “2026-05-01”.",
		`{"body":"true"}`:                             "Send mail; body: “true”.",
		`{"body":"one\ntwo"}`:                         "Send mail; body: “one ⏎ two” (⏎ is a new line).",
		`{"body":"` + strings.Repeat("a", 200) + `"}`: "Send mail; body: “" + strings.Repeat("a", 160) + "…” (40 more characters).",
		`{"pattern":"*.txt"}`:                         "Send mail; pattern: *.txt (* stands for any text).",
		`{"to":"\u202ea@b.example"}`:                  "Send mail to ‹U+202E›a@b.example.",
	} {
		if got := prompts.Ask(prompts.AskInput{Language: "en", Tool: tool, Arguments: arguments}).What; got != want {
			t.Errorf("%s\n got %s\nwant %s", arguments, got, want)
		}
	}
}

// What a service says of an action is quoted, if a person has confirmed the service.
func TestAsk_described(t *testing.T) {
	for name, tc := range map[string]struct {
		description string
		unseen      bool
		want        string
	}{
		"first sentence":            {"Sends a mail.\nUse it with care.", false, "Send mail. The service “mail” says of this action: “Sends a mail”."},
		"its name":                  {"Send mail.", false, "Send mail."},
		"none":                      {"", false, "Send mail."},
		"unconfirmed":               {"Sends a mail.", true, "Send mail."},
		"quotes, unseen characters": {"Reads” only\u200b, and  more", false, "Send mail. The service “mail” says of this action: “Reads\" only‹U+200B›, and more”."},
	} {
		tool := declared("mail", "send_mail")
		tool.Description, tool.Rules.Marks.Unseen = tc.description, tc.unseen
		if got := prompts.Ask(prompts.AskInput{Language: "en", Tool: tool, Arguments: "{}"}).What; got != tc.want {
			t.Errorf("%s\n got %s\nwant %s", name, got, tc.want)
		}
	}
}

// A question does not say less than the call does.
func TestAsk_saysNoLess(t *testing.T) {
	for name, tc := range map[string]struct {
		tool             schemas.Tool
		arguments        string
		what, why, where string
	}{
		"a file whose name is a date":      {declared("files", "delete_file", "path"), `{"path":"2026-05-01"}`, "Delete file 2026-05-01.", "", ""},
		"a text that is true":              {declared("web", "search_pages", "query"), `{"query":"true"}`, "Search pages; query: true.", "", ""},
		"a flag":                           {declared("web", "search_pages", "newest"), `{"newest":true}`, "Search newest pages.", "", ""},
		"a flag that is off":               {declared("web", "search_pages", "newest"), `{"newest":false}`, "Search pages; newest: no.", "", ""},
		"a search in a place":              {declared("files", "search_files", "path", "query"), `{"path":"a/b","query":"x"}`, "", "what is written above may come", ""},
		"an address with a name before it": {declared("web", "post_page", "url"), `{"url":"https://bank.example@evil.example"}`, "", "", "site evil.example"},
		"the same beside a mail":           {declared("web", "post_page", "url", "to"), `{"url":"https://bank.example@evil.example","to":"a@evil.example"}`, "", "", "site evil.example"},
	} {
		q := prompts.Ask(prompts.AskInput{Language: "en", Tool: tc.tool, Arguments: tc.arguments, Reason: toolhandler.Reason{Rule: toolhandler.RuleFlow, Flows: []schemas.Origin{"mail"}}})
		if tc.what != "" && q.What != tc.what || !strings.Contains(q.Why, tc.why) || !strings.Contains(q.Where, tc.where) {
			t.Errorf("%s: %+v", name, q)
		}
	}
}
