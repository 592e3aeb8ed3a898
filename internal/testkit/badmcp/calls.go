package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"
)

// names returns the names of the tools; call implements them, and two more.
func names() []string {
	return []string{"echo", "slow", "die", "hang", "huge", "huge_last", "deaf", "grow", "env", "ask", "wonder", "other_id", "flood", "odd", "fail", "refuse", "torrent", "line", "progress", "poison", "rename", "late"}
}

// call executes a tool; stop ends the process with code.
func (s *server) call(in *bufio.Reader, r request) (code int, stop bool) {
	id := string(r.ID)
	switch r.Params.Name {
	case "echo": // the arguments as text
		s.text(r.ID, string(r.Params.Arguments))
	case "slow": // answers after 300 ms, without holding up other calls
		s.work.Go(func() {
			time.Sleep(300 * time.Millisecond)
			s.text(r.ID, "slept")
		})
	case "die": // exits during the call
		fmt.Fprintln(s.stderr, "fatal: out of cheese")
		return 7, true
	case "hang": // writes a line to standard error and never answers
		fmt.Fprintln(s.stderr, "hanging")
	case "huge": // a line of 20 MB with its id first
		s.print(`{"jsonrpc":"2.0","id":` + id + `,"result":{"content":[{"type":"text","text":"` + strings.Repeat("x", 20<<20) + `"}]}}` + "\n")
	case "huge_last": // the same with its id last
		s.print(`{"result":{"content":[{"type":"text","text":"` + strings.Repeat("x", 20<<20) + `"}]},"jsonrpc":"2.0","id":` + id + "}\n")
	case "deaf": // answers, then stops reading
		s.text(r.ID, "not listening any more")
		time.Sleep(time.Hour)
	case "grow": // adds a tool and notifies the host, several times
		s.extra = append(s.extra, fmt.Sprintf("grown_%d", len(s.extra)))
		for range 5 {
			s.print(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}` + "\n")
		}
		s.text(r.ID, "grown")
	case "env": // the names of its environment variables
		s.text(r.ID, envNames())
	case "ask": // sends the host two requests and returns the answers
		s.print(`{"jsonrpc":"2.0","id":"q1","method":"ping"}` + "\n" + `{"jsonrpc":"2.0","id":"q2","method":"roots/list"}` + "\n")
		first, _ := in.ReadString('\n')
		second, _ := in.ReadString('\n')
		s.text(r.ID, first+second)
	case "wonder": // asks the person of the host, and returns the answer
		s.print(`{"jsonrpc":"2.0","id":"q3","method":"elicitation/create","params":{"message":"When?","requestedSchema":{"type":"object","required":["day"],"properties":{"day":{"type":"string","enum":["Monday","Friday"]}}}}}` + "\n")
		said, _ := in.ReadString('\n')
		s.text(r.ID, said)
	case "other_id": // answers a request that was never made, then the call with its id as a string
		s.result(json.RawMessage(`4711`), `{"content":[]}`)
		s.result(json.RawMessage(`"`+id+`"`), `{"content":[{"type":"text","text":"late"}]}`)
	case "flood": // 20,000 notifications before the answer
		s.print(strings.Repeat(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":1}}`+"\n", 20000))
		s.text(r.ID, "flooded")
	case "torrent": // 256 MiB of text in lines that are no messages, before the answer
		line := strings.Repeat("x", 1<<20-1) + "\n"
		for range 256 {
			s.print(line)
		}
		s.text(r.ID, "survived")
	case "line": // an answer of 200 MB on one line
		s.print(`{"jsonrpc":"2.0","id":` + id + `,"result":{"content":[{"type":"text","text":"`)
		part := strings.Repeat("x", 1<<20)
		for range 200 {
			s.print(part)
		}
		s.print(`"}]}}` + "\n")
	case "progress": // progress notifications every 50 ms for 600 ms, then the answer
		token := string(r.Params.Meta.ProgressToken)
		s.work.Go(func() {
			for i := range 12 {
				time.Sleep(50 * time.Millisecond)
				s.print(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":%d}}`+"\n", token, i))
			}
			s.text(r.ID, "done")
		})
	case "poison": // changes the description of the tool "echo"
		s.poisoned = true
		s.print(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}` + "\n")
		s.text(r.ID, "poisoned")
	case "rename": // lists the tool "slow" under another name
		s.renamed = true
		s.print(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}` + "\n")
		s.text(r.ID, "renamed")
	case "late": // answers after 300 ms, even if the call is cancelled
		s.work.Go(func() {
			time.Sleep(300 * time.Millisecond)
			s.text(r.ID, "too late")
		})
	case "mumble": // 200 MB on one line that is no message, and no answer
		part := strings.Repeat("x", 1<<20)
		for range 200 {
			s.print(part)
		}
		s.print("\n")
	case "deep": // an answer that is nested too deep to be read
		s.result(r.ID, `{"content":`+strings.Repeat("[", 20_000)+strings.Repeat("]", 20_000)+`}`)
	case "broken": // the same, but it names its request last, and is no JSON at all
		s.print(`{"jsonrpc":"2.0","result":{"content":[{"type":"text","text":"half},"id":` + string(r.ID) + "}\n")
	case "log": // a log line that looks like an answer with an error, then the answer
		s.print(`{"level":"warn","error":"the disk is slow"}` + "\n")
		s.text(r.ID, "done")
	case "odd": // content of unknown and unusual kinds
		s.result(r.ID, `{"content":[null,{"type":"hologram"},{"type":"text","text":"plain"}]}`)
	case "fail":
		s.result(r.ID, `{"content":[{"type":"text","text":"no such city"}],"isError":true}`)
	case "refuse":
		s.print(`{"jsonrpc":"2.0","id":` + id + `,"error":{"code":-32602,"message":"unknown tool"}}` + "\n")
	default:
		s.text(r.ID, "ok")
	}
	return 0, false
}

func (s *server) text(id json.RawMessage, text string) {
	quoted, err := json.Marshal(text)
	if err == nil {
		s.result(id, `{"content":[{"type":"text","text":`+string(quoted)+`}]}`)
	}
}

func envNames() string {
	var found []string
	for _, entry := range os.Environ() {
		name, _, _ := strings.Cut(entry, "=")
		found = append(found, name)
	}
	return strings.Join(found, "\n")
}
