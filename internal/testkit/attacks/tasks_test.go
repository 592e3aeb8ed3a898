package attacks_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"molar/schemas"
	"molar/toolhandler"
)

// A task is what somebody wants of their day, and the calls that a model makes for it.
type task struct {
	Text, Lang string
	Calls      []string
}

// desk are the servers of an office, without annotations but on what deletes.
type desk struct{ trusted map[string]bool }

func (desk) CallFor(_ context.Context, _ *schemas.Person, server, name string, _ json.RawMessage) (schemas.ToolResult, error) {
	output, err := json.Marshal(fmt.Sprintf("what %s of %s says", name, server))
	return schemas.ToolResult{Output: output}, err
}

func (d desk) tools() []schemas.Tool {
	var all []schemas.Tool
	for _, name := range []string{
		"booking__book_visit", "booking__cancel_visit", "booking__list_visits", "booking__move_visit",
		"family__get_family_details", "family__search_family",
		"files__append_file", "files__delete_folder", "files__get_file_info", "files__list_directory", "files__move_file", "files__read_file", "files__search_files", "files__write_file",
		"mail__add_contact", "mail__get_attachment", "mail__get_mail", "mail__list_mails", "mail__mark_read", "mail__search_mail", "mail__send_mail",
		"sdi__search_records",
	} {
		server, own, _ := strings.Cut(name, "__")
		t := tool(server, own, "")
		t.Name, t.Rules.Trusted = name, d.trusted[server]
		if own == "delete_folder" {
			t.Annotations.DestructiveHint = new(true)
		}
		all = append(all, t)
	}
	return all
}

// asks plays a task where nobody can be asked, and says yes to each call that waits. It
// reports whether any did, and whether all were made in the end.
func (d desk) asks(t *testing.T, k task) (asked, finished bool) {
	t.Helper()
	handler, err := toolhandler.New(toolhandler.Config{Caller: d})
	if err != nil {
		t.Fatal(err)
	}
	flow := toolhandler.Flow{Words: []string{k.Text}}
	for i, name := range k.Calls {
		call := schemas.ToolCall{ID: fmt.Sprint(i), Function: schemas.FunctionCall{Name: name, Arguments: `{"what":"it"}`}}
		for _, consented := range [][]schemas.ToolCall{nil, {call}} {
			turn := handler.Begin(toolhandler.TurnConfig{Tools: d.tools(), Flow: flow, Consented: consented})
			var out toolhandler.Outcome
			for o := range turn.Execute(t.Context(), []schemas.ToolCall{call}) {
				out = o
			}
			flow = turn.Flow()
			if finished = out.Status == toolhandler.StatusOK; finished {
				break
			}
			asked = true
		}
		if !finished {
			return asked, false
		}
	}
	return asked, true
}

// A day's work is bearable: where the servers that hold one's own texts are trusted, at most
// one task in five asks, and every task can be finished.
func TestTasks(t *testing.T) {
	f, err := os.Open("testdata/tasks.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	own := desk{trusted: map[string]bool{"booking": true, "files": true, "family": true, "sdi": true}}
	all, questions, untrusted := 0, 0, 0
	for lines := bufio.NewScanner(f); lines.Scan(); all++ {
		var k task
		if err := json.Unmarshal(lines.Bytes(), &k); err != nil {
			t.Fatal(err)
		}
		asked, finished := own.asks(t, k)
		if !finished {
			t.Errorf("%q cannot be finished", k.Text)
		}
		if asked {
			questions++
			t.Logf("asks: %q, %v", k.Text, k.Calls)
		}
		if asked, _ := (desk{}).asks(t, k); asked {
			untrusted++
		}
	}
	t.Logf("%d of %d tasks ask; %d where no server is trusted", questions, all, untrusted)
	if all != 30 || questions > all/5 {
		t.Errorf("%d of %d tasks ask", questions, all)
	}
}
