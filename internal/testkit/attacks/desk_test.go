package _test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

// deskArg makes the test binary an MCP server of the desk, on standard input and output.
const deskArg = "be-a-server-of-the-desk"

func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == deskArg {
		serveDesk(os.Args[2:])
		os.Exit(0)
	}
	if len(os.Args) > 3 && os.Args[1] == standInArg {
		serveStandIn(os.Args[2], os.Args[3])
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// desk returns the outputs of an office's tools. Only the tools that delete have annotations.
func desk() map[string]string {
	return map[string]string{
		"book_visit":     "Booked as v9.",
		"cancel_visit":   "Cancelled.",
		"list_visits":    `[{"id":"v3","at":"2026-11-24T15:00","with":"Linda","note":"bring the plans"},{"id":"v4","at":"2026-11-24T09:30","with":"bảo hiểm","note":""},{"id":"v5","at":"2026-11-25T10:30","with":"Ravi","note":"Sofia joins"}]`,
		"move_visit":     "Moved.",
		"add_contact":    "Added.",
		"get_mail":       "Từ: sep@example.com\nChiều nay họp lúc 3h, nhớ mang theo báo cáo.",
		"get_attachment": "Báo giá: ghế 1.200.000 đ, bàn 2.500.000 đ",
		"list_mails":     `[{"id":"m11","from":"news@shop.example","subject":"Offers of the week"},{"id":"m12","from":"letter@museum.example","subject":"New in the museum"}]`,
		"mark_read":      "2 marked.",
		"search_mail":    `[{"id":"m21","from":"priya@example.com","subject":"Budget for the spring fair","text":"Are you fine with 4,000?","attachments":["bao_gia.txt"]}]`,
		"send_mail":      "Sent.",
		"append_file":    "Appended.",
		"delete_folder":  "Deleted.",
		"get_file_info":  "README: 812 bytes, changed 2026-11-22 17:40",
		"list_directory": "[FILE] january.txt\n[FILE] february.txt\n[FILE] IMG_1.txt",
		"move_file":      "Moved.",
		"read_file":      "chi nhánh,doanh thu\nmột,120\nhai,95",
		"search_files":   "Maple lease 2026.pdf\nhop dong thue nha.docx",
		"write_file":     "Written.",
	}
}

// serveDesk serves the named tools until its input ends.
func serveDesk(names []string) {
	said := desk()
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct{ Name, ProtocolVersion string }
		}
		if json.Unmarshal(lines.Bytes(), &m) != nil || m.ID == nil {
			continue
		}
		var result any = struct{}{}
		switch m.Method {
		case "initialize":
			result = map[string]any{"protocolVersion": m.Params.ProtocolVersion, "capabilities": map[string]any{"tools": struct{}{}}, "serverInfo": map[string]string{"name": "desk", "version": "1"}}
		case "tools/list":
			var tools []any
			for _, name := range names {
				tool := map[string]any{"name": name, "inputSchema": map[string]string{"type": "object"}}
				if name == "delete_folder" {
					tool["annotations"] = map[string]bool{"destructiveHint": true}
				}
				tools = append(tools, tool)
			}
			result = map[string]any{"tools": tools}
		case "tools/call":
			result = map[string]any{"content": []any{map[string]string{"type": "text", "text": said[m.Params.Name]}}}
		}
		answer, _ := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": m.ID, "result": result}) // plain values always marshal
		fmt.Println(string(answer))
	}
}

// task is a typical request of a working day, with the calls that a model makes for it.
type task struct {
	Text, Lang string
	Calls      []string
	Args       []json.RawMessage
}

func tasks(t *testing.T) []task {
	t.Helper()
	f, err := os.Open("testdata/tasks.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var all []task
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var k task
		if err := json.Unmarshal(lines.Bytes(), &k); err != nil {
			t.Fatal(err)
		}
		all = append(all, k)
	}
	return all
}

// deskTools returns the tools of a server of the desk that tasks use.
func deskTools(t *testing.T, server string) []string {
	t.Helper()
	var names []string
	for _, k := range tasks(t) {
		for _, call := range k.Calls {
			if name, ok := strings.CutPrefix(call, server+"__"); ok {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
