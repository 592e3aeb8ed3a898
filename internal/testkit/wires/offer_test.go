package _test

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"molar/agent"
	"molar/schemas"
)

// register is a desk of two hundred tools, two of them with schemas as large as some real ones,
// which records the calls.
type register struct {
	desk
	mu     sync.Mutex
	called []string
}

func newRegister() *register {
	r := &register{desk: desk{result: `"done"`}}
	things := strings.Fields("invoice ticket branch meeting contact picture folder payment parcel recipe room lamp ticketing song report vote badge tenant cluster pipeline")
	for verb := range strings.FieldsSeq("list read rename archive restore share count export label move") {
		for _, thing := range things {
			r.add(verb+"_"+thing, fmt.Sprintf("Can %s one %s of the account, by its id.", verb, thing), json.RawMessage(
				`{"type":"object","properties":{"id":{"type":"string","description":"The id"},"note":{"type":"string","description":"What to write beside it"}},"required":["id"]}`))
		}
	}
	r.tools = r.tools[:198]
	r.add("put_collection", "Replaces a whole collection of requests by another one.", deepSchema(45_000))
	r.add("create_collection", "Creates a collection of requests.", deepSchema(36_000))
	return r
}

func (r *register) add(name, description string, schema json.RawMessage) {
	r.tools = append(r.tools, schemas.Tool{
		ToolInfo: schemas.ToolInfo{Name: "desk__" + name, Server: "desk", ToolName: name, Description: description, InputSchema: schema},
		Rules:    schemas.ToolRules{Policy: schemas.PolicyAllow},
	})
}

func (r *register) CallFor(_ context.Context, _ *schemas.Person, _, tool string, _ json.RawMessage) (schemas.ToolResult, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.called = append(r.called, tool)
	return schemas.ToolResult{Output: json.RawMessage(r.result)}, nil
}

// deepSchema returns a schema of about size bytes: two required arguments, and many optional ones
// below one of them.
func deepSchema(size int) json.RawMessage {
	var parts []string
	for n := 0; n < size-300; n += len(parts[len(parts)-1]) + 1 {
		parts = append(parts, fmt.Sprintf(`"part_%03d":{"type":"object","description":"Settings of part %d of each request","properties":{"enabled":{"type":"boolean","description":"Whether it counts"},"value":{"type":"string","description":"What is sent"}}}`, len(parts), len(parts)))
	}
	return json.RawMessage(`{"type":"object","properties":{"collectionId":{"type":"string","description":"Which collection"},` +
		`"collection":{"type":"object","properties":{"name":{"type":"string"},` + strings.Join(parts, ",") + `},"required":["name"]}},"required":["collectionId","collection"]}`)
}

// offers reports whether a request declares the tool.
func offers(t *testing.T, w wire, b, tool string) bool {
	t.Helper()
	_, tools, _ := w.split(read(t, b))
	return strings.Contains(tools, `"name":"`+tool+`"`)
}

// Found tools are offered as far as the window has room, large ones in brief. Their arguments are
// checked against their whole schemas. What was called is offered from then on, in a list that repeats from turn to
// turn and after a restart of the host.
func TestOffer_largeTools(t *testing.T) {
	const put = "desk__put_collection"
	right := `{"collectionId":"c1","collection":{"name":"Tests"}}`
	onEachWire(t, func(t *testing.T, w wire) {
		t.Parallel()
		w.window = 16_384
		r := newRegister()
		c := newTalk(t, w, r, agent.Limits{})
		c.ask(t, "hello there", says("Hello."))
		sent := c.ask(t, "Replace a whole collection of requests", calls("find_tools", `{"words":"replace collection"}`),
			calls(put, `{"collectionId":7}`), calls(put, right), says("It is replaced."))
		if got := strings.Join(r.called, " "); got != "put_collection" {
			t.Errorf("called %q", got)
		}
		found := sent[1]
		for _, part := range []string{put + ": Replaces a whole collection", `collectionId`} {
			if !strings.Contains(found, part) {
				t.Errorf("what find_tools gave lacks %q", part)
			}
		}
		if _, tools, _ := w.split(read(t, found)); !offers(t, w, found, put) || len(tools)/4 > w.window/2 {
			t.Errorf("the tool is not offered in brief, with %d tokens of tools", len(tools)/4)
		}
		if !strings.Contains(sent[2], "do not fit its schema") {
			t.Errorf("the fault of the first call is not told: %s", sent[2])
		}

		again := c.ask(t, "and the same for the other one please", says("Which one is that?"))
		if !offers(t, w, again[0], put) {
			t.Error("what was called is not offered in the next turn")
		}
		_, before, _ := w.split(read(t, again[0]))
		for i, question := range []string{"the second one, please", "yes"} {
			if i == 1 {
				c.restart(t)
			}
			_, now, _ := w.split(read(t, c.ask(t, question, says("Shall I?"))[0]))
			if now != before {
				t.Errorf("after %q the tools are others", question)
			}
		}
		for i, b := range c.model.sent() {
			if n := len(b) / 4; n > w.window {
				t.Errorf("request %d has %d tokens", i, n)
			}
		}
	})
}

// The tools take a quarter of the model's largest window, or eight thousand tokens. A growing
// window follows them: Ollama loads the model once, and the conversation keeps its room.
func TestOffer_roomFollowsTheModel(t *testing.T) {
	onEachWire(t, func(t *testing.T, w wire) {
		t.Parallel()
		w.window = 32_768
		c := newTalk(t, w, newRegister(), agent.Limits{})
		long := strings.Repeat("It is a long story. ", 100)
		loaded := map[int]bool{}
		for i, question := range []string{"hello there", "list my invoices", "and the second one?", "yes"} {
			b := c.ask(t, question, says(long))[0]
			_, tools, _ := w.split(read(t, b))
			if n := len(tools) / 4; n < 5000 || n > 8500 {
				t.Errorf("turn %d is offered %d tokens of tools", i, n)
			}
			if i > 0 && !strings.Contains(b, long) {
				t.Errorf("turn %d is not shown the answer before", i)
			}
			if w.name == "ollama" {
				loaded[numCtx(t, b)] = true
			}
		}
		if w.name == "ollama" && (len(loaded) != 1 || !loaded[16_384]) {
			t.Errorf("the model is loaded with windows of %v", loaded)
		}
	})
}

// If the window is unknown, found tools may exceed the room for tools by as much as the
// conversation may take: in brief, both large tools fit.
func TestOffer_unknownWindow(t *testing.T) {
	for _, w := range []wire{geminiWire(), openaiWire(), anthropicWire()} {
		c := newTalk(t, w, newRegister(), agent.Limits{})
		sent := c.ask(t, "hello there", calls("find_tools", `{"words":"replace collection"}`), says("I can replace it."))
		_, tools, _ := w.split(read(t, sent[1]))
		if offers(t, w, sent[0], "desk__put_collection") || !offers(t, w, sent[1], "desk__put_collection") || !offers(t, w, sent[1], "desk__create_collection") {
			t.Errorf("%s: offered before and after: %t %t, and the other: %t", w.name, offers(t, w, sent[0], "desk__put_collection"),
				offers(t, w, sent[1], "desk__put_collection"), offers(t, w, sent[1], "desk__create_collection"))
		}
		if n := len(tools) / 4; n > 24_000 {
			t.Errorf("%s: the tools take %d tokens", w.name, n)
		}
	}
}

// numCtx returns the window that a request to Ollama asks for, 0 for the server's default.
func numCtx(t *testing.T, b string) int {
	t.Helper()
	m := regexp.MustCompile(`"num_ctx":(\d+)`).FindStringSubmatch(b)
	if m == nil {
		return 0
	}
	n, err := strconv.Atoi(m[1])
	if err != nil {
		t.Fatal(err)
	}
	return n
}
