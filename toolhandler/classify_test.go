package toolhandler_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"molar/schemas"
	"molar/toolhandler"
)

func TestClassify(t *testing.T) {
	yes, no := new(true), new(false)
	type rules = schemas.ToolRules
	type hints = schemas.ToolAnnotations
	const (
		none = "it has no annotations, and its name does not begin with a verb that reads"
		says = "its annotations do not say that it only reads"
	)
	for _, tt := range []struct {
		name  string
		rules rules
		hints hints
		want  toolhandler.Class
		why   string
	}{
		{"zap", rules{ReadOnly: true}, hints{}, toolhandler.Reads, "the config marks it readOnly"},
		{"zap", rules{Adds: true}, hints{}, toolhandler.Adds, "the config marks it adds"},
		{"zap", rules{}, hints{ReadOnlyHint: yes}, toolhandler.Reads, "it announces itself as read-only"},
		{"get_it", rules{}, hints{ReadOnlyHint: yes, DestructiveHint: yes}, toolhandler.Writes, "it announces itself as destructive"},
		{"zap", rules{}, hints{DestructiveHint: no}, toolhandler.Writes, says},
		{"get_it", rules{}, hints{ReadOnlyHint: no}, toolhandler.Writes, says},
		{"get_it", rules{}, hints{OpenWorldHint: yes}, toolhandler.Writes, says},
		{"zap", rules{Mild: true}, hints{DestructiveHint: yes}, toolhandler.Writes, says},
		{"get_it", rules{}, hints{}, toolhandler.Reads, `its name begins with "get"`},
		{"s_get_it", rules{}, hints{}, toolhandler.Reads, `its name begins with "get"`},
		{"getUserByID", rules{}, hints{}, toolhandler.Reads, `its name begins with "get"`},
		{"HTTPFetch", rules{}, hints{}, toolhandler.Writes, none},
		{"issue.read", rules{}, hints{}, toolhandler.Writes, none},
		{"create_it", rules{}, hints{}, toolhandler.Writes, `its name says "create"`},
		{"find_replace", rules{}, hints{}, toolhandler.Writes, `its name says "replace"`},
		{"check_out", rules{}, hints{}, toolhandler.Writes, `its name says "out"`},
		{"get_rid_of", rules{}, hints{}, toolhandler.Writes, `its name says "rid"`},
		{"list_unsubscribe", rules{}, hints{}, toolhandler.Writes, `its name says "unsubscribe"`},
		{"getOrCreateUser", rules{}, hints{}, toolhandler.Writes, `its name says "create"`},
		{"target_sheet", rules{}, hints{}, toolhandler.Writes, none},
	} {
		s := tool("s", tt.name, "")
		s.Rules, s.Annotations = tt.rules, tt.hints
		if class, why := toolhandler.Classify(s); class != tt.want || why != tt.why {
			t.Errorf("%s %+v: %s (%s), want %s (%s)", tt.name, tt.hints, class, why, tt.want, tt.why)
		}
	}
}

// An argument that can hold a command outweighs a name and an annotation that read, wherever the schema
// declares it, but not the operator's mark nor credentials that cannot write.
func TestClassify_commands(t *testing.T) {
	const text = `{"type":"string"}`
	told := func(description string) string { return fmt.Sprintf(`{"type":"string","description":%q}`, description) }
	for argument, command := range map[string]bool{
		"q " + text: false, "sql " + text: true, "sqlQuery " + text: true, "method " + text: true, "http-method " + text: true, "request_body " + text: true, "code " + text: true, "command_line " + text: true,
		"method_id " + text: false, "script_name " + text: false, "zip_code " + text: false,
		`method {"enum":["GET","HEAD"]}`: false, `method {"enum":["GET","POST"]}`: true, `action {"enum":["list","get"]}`: false, `method {"anyOf":[{"enum":["GET"]},{"type":"string"}]}`: true,
		"query " + told("An SQL statement"): true, "q " + told("Câu lệnh SQL"): true, "query " + told("The words to look for"): false, "name " + told("Name of the script"): false,
		"x " + told("JavaScript to run"): true, `x {"type":["string","null"],"description":"PostgreSQL"}`: true,
		`request {"type":"object","properties":{"sql":` + text + `}}`: true, `body {"type":"object","properties":{"x":` + text + `}}`: true, `all {"type":"array","items":{"properties":{"sql":` + text + `}}}`: true,
		`r {"$ref":"#/$defs/R"}`: true, `r {"anyOf":[{"$ref":"#/$defs/R"},{"type":"null"}]}`: true, `r {"allOf":[{"$ref":"#/$defs/R"}]}`: true, `r {"oneOf":[` + text + `,{"$ref":"#/$defs/R"}]}`: true, `r {"$ref":"#/$defs/Loop"}`: false, `r {"$ref":"#/$defs/Missing"}`: false,
	} {
		defs := `,"$defs":{"R":{"type":"object","properties":{"x":{"$ref":"#/$defs/S"}}},"S":{"properties":{"sql":` + text + `}},"Loop":{"properties":{"and":{"items":{"$ref":"#/$defs/Loop"}}}}}}`
		in := strings.TrimSuffix(schema(argument), "}") + defs
		byName, said := tool("s", "get_it", in), tool("s", "zap", in)
		said.Annotations.ReadOnlyHint = new(true)
		for _, tl := range []schemas.Tool{byName, said} {
			if class, why := toolhandler.Classify(tl); class == toolhandler.Writes != command {
				t.Errorf("%s of %s: %s", argument, tl.ToolName, why)
			}
			if class, why := toolhandler.Classify(marked(tl, schemas.ServerMarks{ReadOnly: true})); class != toolhandler.Reads {
				t.Errorf("%s with credentials that cannot write: %s", argument, why)
			}
			tl.Rules.ReadOnly = true
			if class, why := toolhandler.Classify(tl); class != toolhandler.Reads {
				t.Errorf("%s, marked: %s", argument, why)
			}
		}
	}
	mysql := tool("db", "mysql_query", schema("query"))
	if class, _ := toolhandler.Classify(mysql); class != toolhandler.Writes {
		t.Error("mysql_query reads")
	}
	deep := strings.Repeat(`{"type":"object","properties":{"a":`, 40) + text + strings.Repeat(`}}`, 40)
	if class, why := toolhandler.Classify(tool("s", "get_it", deep)); class != toolhandler.Writes || !strings.Contains(why, "too deep") {
		t.Errorf("a schema that cannot be read in whole: %s (%s)", class, why)
	}
}

// Arguments that the schema does not declare may hold a command too, and those that it does not have
// beside others may do anything: no mark and no name spoke of them.
func TestClassify_undeclared(t *testing.T) {
	fetch := tool("web", "fetch", schema("url", `options {"type":"object"}`, `page {"properties":{"n":{"type":"integer"}}}`, `list {"items":{"properties":{"n":{"type":"integer"}}}}`))
	news := toolhandler.Reading{Origin: "news", Public: true}
	for args, want := range map[string]string{
		`{"url":"https://a.example"}`: "free", `{"url":"https://a.example","method":"DELETE"}`: "order", `{"options":{"method":"POST"}}`: "order", `{"options":{"X-HTTP-Method-Override":"POST"}}`: "order",
		`{"options":{"depth":1}}`: "free", `{"sql":"DROP TABLE x"}`: "order", `{"url":"https://a.example","delete_after":true}`: "order", `{"delete_after":null}`: "order",
		`{"page":{"x":1}}`: "order", `{"page":{"n":1}}`: "free", `{"list":[{"n":1}]}`: "free", `{"list":[{"n":1,"set":2}]}`: "order",
	} {
		if got := whether(t, flow(news), fetch, args); got != want {
			t.Errorf("%s: %s", args, got)
		}
	}
}

// The mark that a tool only adds is about the arguments that it declares; readOnly is about all.
func TestClassify_undeclaredMarks(t *testing.T) {
	note := tool("notes", "put_note", schema("text"))
	news := toolhandler.Reading{Origin: "news", Public: true}
	for args, want := range map[string]string{`{"text":"a"}`: "free", `{"text":"a","overwrite":true}`: "order"} {
		if got := whether(t, flow(news), adds(note), args); got != want {
			t.Errorf("adds, %s: %s", args, got)
		}
		note.Rules.ReadOnly = true
		if got := whether(t, flow(news), note, args); got != "free" {
			t.Errorf("readOnly, %s: %s", args, got)
		}
		note.Rules.ReadOnly = false
	}
}

// What is free text is told by the schema, unless the operator says it; all else is part of the destination.
func TestArguments(t *testing.T) {
	in := schema("body", "to", "noteText", `message {"type":"string","description":"ID of the message"}`, `parent {"type":"string","description":"The message to reply to"}`, `x {"type":"string","description":"The text of the mail"}`,
		`url {"type":"string","description":"Text of the address"}`, `title {"enum":["a"]}`, `content {"type":"string","format":"uri"}`, `summary {"type":"string","pattern":"a"}`, `notes {"type":"array","items":{"type":"string"}}`, `text {"type":"integer"}`,
		`comment {"anyOf":[{"type":"string"},{"type":"null"}]}`, `mail {"type":"object","properties":{"to":{"type":"string"},"body":{"type":"string"}}}`)
	content := func(tl schemas.Tool) (all []string) {
		for _, a := range toolhandler.Arguments(tl) {
			if a.Use == toolhandler.Content {
				all = append(all, a.Path)
			}
		}
		return all
	}
	send := tool("mail", "send", in)
	if got, want := content(send), []string{"body", "comment", "mail.body", "noteText", "notes", "x"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	send.Rules.Content = []string{"mail.to"}
	if got := content(send); !slices.Equal(got, []string{"mail.to"}) {
		t.Errorf("the operator's: %q", got)
	}
}
