package _test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
)

// deskArg makes the test binary an MCP server of the desk, on standard input and output.
const deskArg = "be-a-server-of-the-desk"

func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == deskArg {
		serveDesk(os.Args[2])
		os.Exit(0)
	}
	if len(os.Args) > 3 && os.Args[1] == standInArg {
		serveStandIn(os.Args[2], os.Args[3])
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// desk returns the tools of an office's servers, with the schemas that such servers declare. Only the
// tool that deletes has annotations.
func desk() map[string][]standInTool {
	return map[string][]standInTool{
		"booking": {
			{"book_visit", "title*,at*,room,every", "", "Booked as v9."},
			{"cancel_visit", "visit*", "", "Cancelled."},
			{"move_visit", "visit*,to*", "", "Moved."},
			{"list_visits", "from,to", "", `[{"id":"v3","at":"2026-11-24T15:00","with":"Linda","note":"bring the plans"},{"id":"v4","at":"2026-11-24T09:30","with":"bảo hiểm","note":""},{"id":"v7","at":"2026-11-25T15:00","with":"Tom","note":""},{"id":"v8","at":"2026-11-25T10:30","with":"Ravi","note":"Sofia joins"}]`},
		},
		"mail": {
			{"add_contact", "name*,phone,address", "", "Added."},
			{"mark_read", "ids*:list", "", "2 marked."},
			{"send_mail", "to*,cc,subject,body*", "", "Sent."},
			{"get_mail", "id,from,newest:boolean", "", "Từ: sep@example.com\nChiều nay họp lúc 3h, nhớ mang theo báo cáo."},
			{"get_attachment", "mail*,name*", "", "Báo giá: ghế 1.200.000 đ, bàn 2.500.000 đ"},
			{"list_mails", "folder,since", "", `[{"id":"m11","from":"news@shop.example","subject":"Offers of the week"},{"id":"m12","from":"letter@museum.example","subject":"New in the museum"},{"id":"m31","from":"news@shoes.example","subject":"Shoes"},{"id":"m32","from":"letter@zoo.example","subject":"New in the zoo"}]`},
			{"search_mail", "query*", "", `[{"id":"m21","from":"priya@example.com","subject":"Budget for the spring fair","text":"Are you fine with 4,000?","attachments":["bao_gia.txt"]},{"id":"m41","from":"tom@example.com","subject":"Budget for the spring fair","attachments":["hop_dong.txt"]}]`},
		},
		"files": {
			{"append_file", "path*,content*", "", "Appended."},
			{"write_file", "path*,content*", "", "Written."},
			{"move_file", "source*,destination*", "", "Moved."},
			{"delete_folder", "path*", destroyer, "Deleted."},
			{"get_file_info", "path*", "", "README: 812 bytes, changed 2026-11-22 17:40"},
			{"list_directory", "path*", "", "[FILE] january.txt\n[FILE] february.txt\n[FILE] IMG_1.txt"},
			{"read_file", "path*", "", "chi nhánh,doanh thu\nmột,120\nhai,95"},
			{"search_files", "path*,pattern*", "", "Maple lease 2026.pdf\nhop dong thue nha.docx"},
		},
		"folders": {{"delete_folder", "path*", destroyer, "Deleted."}},
		"web": {
			{"search", "query*", reader, `[{"url":"https://a.example/1"},{"url":"https://b.example/2"},{"url":"https://c.example/3"}]`},
			{"fetch", "url*,max_length:integer", reader, "Heat pumps are quiet. More at https://d.example/4 and https://e.example/5"},
		},
		"github": { // as server-github of npm, without annotations
			{"list_issues", "owner*,repo*,state,labels:list,page:integer", "", `[{"number":3,"title":"It crashes"},{"number":5,"title":"No sound"},{"number":8,"title":"Typo"}]`},
			{"get_issue", "owner*,repo*,issue_number*:integer", "", "It crashes on start. Which version?"},
			{"add_issue_comment", "owner*,repo*,issue_number*:integer,body*", "", "Added."},
			{"update_issue", "owner*,repo*,issue_number*:integer,title,body,state,labels:list", "", "Updated."},
		},
		"db": {{"list_tables", "", "", "orders, customers"}, {"query", "sql*", "", `[{"id":17,"total":120},{"id":18,"total":95}]`}},
	}
}

// serveDesk serves the tools of a server of the desk until its input ends.
func serveDesk(server string) {
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct{ Name, ProtocolVersion string }
		}
		if json.Unmarshal(lines.Bytes(), &m) != nil || m.ID == nil {
			continue
		}
		var tools []any
		said := ""
		for _, t := range desk()[server] {
			tool := map[string]any{"name": t.name, "description": strings.ReplaceAll(t.name, "_", " ") + ".", "inputSchema": t.schemaOf("")}
			if t.hints != "" {
				tool["annotations"] = json.RawMessage(t.hints)
			}
			if tools = append(tools, tool); t.name == m.Params.Name {
				said = t.returns
			}
		}
		var result any = struct{}{}
		switch m.Method {
		case "initialize":
			result = map[string]any{"protocolVersion": m.Params.ProtocolVersion, "capabilities": map[string]any{"tools": struct{}{}}, "serverInfo": map[string]string{"name": server, "version": "1"}}
		case "tools/list":
			result = map[string]any{"tools": tools}
		case "tools/call":
			result = map[string]any{"content": []any{map[string]string{"type": "text", "text": said}}}
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

// another returns a task as it comes on a later day: about other files of the same folders, other
// visits and mails, and other people of the same company.
func (k task) another() task {
	r := strings.NewReplacer("v3", "v7", "v4", "v8", "m11", "m31", "m12", "m32", "m21", "m41", "priya@", "tom@", "Priya", "Tom", "bảo hiểm", "Ravi", "whiteboard", "blackboard", "Q3", "Q4",
		"q3", "q4", "sales_by_region", "sales_by_month", "standup_0612", "standup_0613", "chi_tieu", "chi_phi", "IMG_1", "IMG_2", "2026-05-01", "2026-05-02", "reports.zip", "reports2.zip",
		"doanh_thu", "loi_nhuan", "bao_gia", "hop_dong", "old drafts", "older drafts", "ketoan@", "nhansu@", "kế toán", "nhân sự", "#design", "#sales", "Linda", "Tom")
	var later task
	raw, _ := json.Marshal(k) // what was read as JSON always marshals
	if err := json.Unmarshal([]byte(r.Replace(string(raw))), &later); err != nil {
		panic(err)
	}
	return later
}
