package importers_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	yaml "github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"

	"molar/eval"
	"molar/eval/importers"
	"molar/eval/tape"
)

// lines describes what became of files: cases with their expectations, notes, and errors.
func lines(t *testing.T, made []importers.Imported, faults []error) []string {
	t.Helper()
	var all []string
	for _, one := range made {
		for _, note := range one.Notes {
			all = append(all, "note "+note)
		}
		c := one.Case
		if c.ID == "" {
			continue
		}
		head := "case " + c.ID
		if in := c.Input; in != nil && in.System != "" {
			head += " system=" + in.System
		}
		if in := c.Input; in != nil {
			for _, m := range in.Messages {
				head += " " + m.Role + "=" + m.Content
			}
		}
		if one.Tape != nil {
			head += " taped"
			if _, err := tape.Read("t", one.Tape); err != nil {
				t.Error(err)
			}
		}
		all = append(all, head)
		mustLoad(t, c)
		for _, turn := range c.Turns {
			var text strings.Builder
			enc := json.NewEncoder(&text)
			enc.SetEscapeHTML(false)
			if err := enc.Encode(turn.Expect); err != nil {
				t.Fatal(err)
			}
			all = append(all, "  "+turn.User+" "+strings.TrimSpace(text.String()))
		}
	}
	for _, fault := range faults {
		all = append(all, "not "+fault.Error())
	}
	return all
}

// mustLoad requires that a case can be run as it is written.
func mustLoad(t *testing.T, c eval.Case) {
	t.Helper()
	data, err := yaml.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "case.yaml")
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	cases, err := eval.Load(file)
	if err != nil || len(cases) != 1 || cases[0].Err != nil {
		t.Errorf("case %q does not load: %v, %+v", c.ID, err, cases)
	}
}

func TestRead(t *testing.T) {
	for name, test := range map[string]struct {
		opts  importers.Options
		files []string // name, text, name, text
		want  []string
	}{
		"items": {
			files: []string{"d.jsonl", `{"item": {"id": "a", "question": "2+2?", "answer": ["4", "four"]}}` + "\n" + `{"item": {"question":` + "\n" + `{"item": {"topic": "x"}}`},
			want: []string{
				"case a", `  2+2? {"answer":{"any":[{"contains":"4"},{"contains":"four"}]}}`,
				`note d.jsonl: "question" is taken as the question; choose another one with --map user=NAME`,
				`note d.jsonl: "answer" is taken as what the answer has to be (contains); choose another one with --map contains=NAME`,
				"not d.jsonl:2: no JSON: unexpected EOF",
				"not d.jsonl:3: it is unknown which member is the question: it has topic; choose it with --map user=NAME",
			},
		},
		"alternatives that need a judge": {
			files: []string{"g.jsonl", `{"input": "What is plaque?", "ground_truth": ["a film", "a layer"]}`},
			want: []string{
				"case g-1", `  What is plaque? {"answer":{"all":[{"judge":"The answer says the same as one of these texts, contradicts nothing of it and lacks nothing essential of it:\n- a film\n- a layer"}]}}`,
				`note g.jsonl: "ground_truth" is taken as what the answer has to be (like); choose another one with --map contains=NAME`,
			},
		},
		"a tool without a name": {
			files: []string{"e.test.json", `[{"query": "Roll", "expected_tool_use": [{"tool_input": {}}]}]`},
			want:  []string{"not e.test.json:1: turn 1: call 1 has no name"},
		},
		"items with --map": {
			opts:  importers.Options{Map: map[string]string{"user": "topic", "like": "gold.text", "tool": "tool", "system": "rules"}},
			files: []string{"d.jsonl", `{"item": {"topic": "Hue", "rules": "Be kind.", "gold": {"text": "A city"}, "tool": "search"}}`},
			want:  []string{"case d-1 system=Be kind.", `  Hue {"calls":{"others":true,"items":[{"name":"search"}]},"answer":{"all":[{"like":"A city"}]}}`},
		},
		"an eval with its run and its outputs": {
			files: []string{
				"eval.json", `{"object": "eval", "testing_criteria": [
{"type": "string_check", "name": "names", "input": "{{ sample.output_text }}", "operation": "ilike", "reference": "{{item.city}}"},
{"type": "string_check", "name": "other", "input": "{{sample.output_text}}", "operation": "ne", "reference": "Rome"},
{"type": "text_similarity", "name": "near", "input": "{{sample.output_text}}", "reference": "{{item.city}}", "pass_threshold": 0.8},
{"type": "label_model", "name": "tone", "input": [{"role": "developer", "content": "Which tone?"}, {"role": "user", "content": "{{sample.output_text}}"}], "labels": ["kind", "rude"], "passing_labels": ["kind"]},
{"type": "python", "name": "length"},
{"type": "string_check", "name": "filtered", "input": "{{sample.output_text}}", "operation": "eq", "reference": "{{item.city | upper}}"}]}`,
				"run.json", `{"object": "eval.run", "data_source": {"type": "completions", "input_messages": {"type": "template", "template": [
{"role": "developer", "content": {"type": "input_text", "text": "Be brief."}}, {"role": "user", "content": "Capital of {{item.country}}?"}]},
"source": {"type": "file_content", "content": [{"item": {"country": "Spain", "city": "Madrid"}}]}}}`,
				"out.jsonl", `{"datasource_item": {"country": "Peru", "city": "Lima"}, "sample": {"output": [{"role": "assistant", "content": "Lima."}]}}`,
			},
			want: []string{
				"note eval.json:6: not carried: python \"length\"",
				"note eval.json:7: not carried: string_check \"filtered\": the template has code, which is not run: \"{{item.city | upper}}\"",
				"case run-3 system=Be brief.",
				`  Capital of Spain? {"answer":{"all":[{"regex":"(?i)Madrid"},{"not_regex":"^\\s*Rome\\s*$"},{"like":"Madrid"},{"judge":"Which tone?\n(the answer)\nThe answer passes with one of these labels: kind. The labels are: kind, rude."}]}}`,
				"note eval.json:6: not carried: python \"length\"",
				"note eval.json:7: not carried: string_check \"filtered\": the template has code, which is not run: \"{{item.city | upper}}\"",
				"case out-1 system=Be brief. taped",
				`  Capital of Peru? {"answer":{"all":[{"regex":"(?i)Lima"},{"not_regex":"^\\s*Rome\\s*$"},{"like":"Lima"},{"judge":"Which tone?\n(the answer)\nThe answer passes with one of these labels: kind. The labels are: kind, rude."}]}}`,
			},
		},
		"the open registry": {
			files: []string{
				"evals/x.yaml", "x:\n  id: x.v0\nx.v0:\n  class: evals.elsuite.basic.match:Match\n  args: {samples_jsonl: x/samples.jsonl}\ny.v0:\n  class: evals.elsuite.basic.json_match:JsonMatch\n  args:\n    samples_jsonl: y/samples.jsonl\n",
				"data/x/samples.jsonl", `{"input": [{"role": "system", "content": "Go on."}, {"role": "system", "name": "example_user", "content": "A"}, {"role": "system", "name": "example_assistant", "content": "B"}, {"role": "user", "content": "C"}], "ideal": "D"}`,
				"data/y/samples.jsonl", `{"input": "E", "ideal": "{}"}`,
			},
			want: []string{
				"case samples-1 system=Go on. user=A assistant=B", `  C {"answer":{"all":[{"regex":"^\\s*D"}]}}`,
				"note evals/x.yaml:7: not carried: class JsonMatch", "case samples-1-2", `  E {}`,
			},
		},
		"stored responses": {
			files: []string{"r.jsonl", `{"id": "r1", "object": "response", "instructions": "Be kind.", "input": "Weather in Hue?", "output": [{"type": "reasoning"}, {"type": "function_call", "call_id": "c1", "name": "weather", "arguments": "{\"city\":\"Hue\"}"}]}
{"id": "r2", "object": "response", "previous_response_id": "r1", "input": [{"type": "function_call_output", "call_id": "c1", "output": "31"}], "output": [{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "It is 31."}]}]}
{"request": {"input": "Search"}, "response": {"id": "r3", "object": "response", "output": [{"type": "mcp_call", "id": "m1", "name": "ask", "arguments": "{}", "output": "42"}, {"type": "web_search_call"}, {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "It is 42."}]}]}}
{"response": {"id": "r4", "object": "response", "output": [{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Ok."}]}]}, "input_items": {"object": "list", "data": [{"role": "user", "content": "Two"}, {"role": "assistant", "content": "Fine."}, {"role": "user", "content": "One"}]}}
{"id": "r5", "object": "response", "output": [], "previous_response_id": "gone"}
{"id": "r6", "object": "response", "input": [], "output": [{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Ok."}]}]}
{"id": "c7", "object": "chat.completion", "choices": [{"message": {"role": "assistant", "content": "Ok."}}]}
`},
			want: []string{
				"case r2 system=Be kind. taped", `  Weather in Hue? {"calls":{"order":true,"items":[{"name":"weather","args":{"city":"Hue"}}]},"answer":{"all":[{"contains":"It is 31."}]}}`,
				`note r.jsonl:3: not carried: an item of type "web_search_call"`,
				"case r3 taped", `  Search {"calls":{"order":true,"items":[{"name":"ask","no_args":true}]},"answer":{"all":[{"contains":"It is 42."}]}}`,
				"case r4 taped", `  One {"no_call":true,"answer":{"all":[{"contains":"Fine."}]}}`, `  Two {"no_call":true,"answer":{"all":[{"contains":"Ok."}]}}`,
				`not r.jsonl:5: a response without input: give its input items or its request beside it, {"response": …, "input_items": …} or {"request": …, "response": …}`,
				`not r.jsonl:6: a response without input: give its input items or its request beside it, {"response": …, "input_items": …} or {"request": …, "response": …}`,
				`not r.jsonl:7: a response without input: give its input items or its request beside it, {"response": …, "input_items": …} or {"request": …, "response": …}`,
			},
		},
		"stored responses in files of their own": {
			files: []string{
				"b.json", `{"id": "r2", "object": "response", "previous_response_id": "r1", "input": "And 3?", "output": [{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "It is 9."}]}]}`,
				"c.json", `{"id": "r1", "object": "response", "input": "2 squared?", "output": [{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "It is 4."}]}]}`,
			},
			want: []string{"case r2 taped", `  2 squared? {"no_call":true,"answer":{"all":[{"contains":"It is 4."}]}}`, `  And 3? {"no_call":true,"answer":{"all":[{"contains":"It is 9."}]}}`},
		},
		"rows of which nothing is checked": {
			files: []string{"q.csv", "Question,Must have,Group\nOne?,1,a\nTwo?,2,b\n"},
			want: []string{
				"case q-2", "  One? {}", "case q-3", "  Two? {}",
				`note q.csv: "Question" is taken as the question; choose another one with --map user=NAME`,
				"note q.csv: nothing of it is taken as what the answer has to be: it has Group, Must have, Question; choose it with --map contains=NAME",
			},
		},
		"a column that is not there": {
			opts:  importers.Options{Map: map[string]string{"user": "Question", "contains": "Wanted"}},
			files: []string{"q.csv", "Question,Must have\nOne?,1\n"},
			want:  []string{"not q.csv:2: --map contains=Wanted: it has Must have, Question"},
		},
		"a session of docker-agent": {
			files: []string{"s.json", `{"id": "s1", "title": "Files", "evals": {"relevance": ["It names the number."]}, "messages": [
{"message": {"agentName": "", "message": {"role": "user", "content": "How many files?"}}},
{"message": {"agentName": "root", "message": {"role": "assistant", "content": "", "tool_calls": [{"id": "t1", "type": "function", "function": {"name": "list", "arguments": "{}"}}]}}},
{"message": {"agentName": "root", "message": {"role": "tool", "tool_call_id": "t1", "content": "FILE a"}}},
{"message": {"agentName": "root", "message": {"role": "assistant", "content": "One."}}}]}`},
			want: []string{"case s1 taped", `  How many files? {"calls":{"order":true,"items":[{"name":"list","no_args":true}]},"answer":{"all":[{"contains":"One."},{"judge":"It names the number."}]}}`},
		},
		"a session of Gemini CLI": {
			files: []string{"session-1.jsonl", `{"sessionId": "g1", "kind": "main"}
{"id": "1", "type": "user", "content": [{"text": "Old"}]}
{"$rewindTo": "1"}
{"id": "2", "type": "user", "content": "How many?"}
{"id": "3", "type": "info", "content": "Update available"}
{"id": "4", "type": "gemini", "content": "", "toolCalls": [{"id": "t1", "name": "ls", "args": {"dir": "."}, "result": [{"functionResponse": {"id": "t1", "name": "ls", "response": {"output": "a"}}}]}]}
{"id": "5", "type": "gemini", "content": "One."}`},
			want: []string{"case g1 taped", `  How many? {"calls":{"order":true,"items":[{"name":"ls","args":{"dir":"."}}]},"answer":{"all":[{"contains":"One."}]}}`},
		},
		"ADK": {
			files: []string{"a.evalset.json", `{"eval_set_id": "s", "eval_cases": [
{"eval_id": "e1", "rubrics": [{"rubric_id": "polite", "rubric_content": {"text_property": "It is polite."}}], "conversation": [{"user_content": {"parts": [{"text": "Roll"}], "role": "user"}, "final_response": {"parts": [{"text": "A 4."}]},
 "intermediate_data": {"tool_uses": [{"id": "x", "name": "roll", "args": {"sides": 6}}], "tool_responses": [{"id": "x", "name": "roll", "response": {"result": 4}}]}}]},
{"eval_id": "e2", "conversation": [{"user_content": {"parts": [{"text": "Roll"}]}, "intermediate_data": {"invocation_events": [{"author": "a", "content": {"parts": [{"function_call": {"name": "roll", "args": {}}}]}}]}}]},
{"eval_id": "e3", "conversation_scenario": {"starting_prompt": "Hi"}}]}`},
			want: []string{
				"case e1 taped", `  Roll {"calls":{"order":true,"items":[{"name":"roll","args":{"sides":6}}]},"answer":{"all":[{"like":"A 4."},{"judge":"It is polite."}]}}`,
				"case e2", `  Roll {"calls":{"order":true,"items":[{"name":"roll","no_args":true}]}}`,
				`not a.evalset.json:5: case "e3" has no conversation: ADK plays the user in it (conversation_scenario), which a case cannot`,
			},
		},
		"ADK's first form with criteria": {
			files: []string{
				"x/a.test.json", `[{"query": "Hi", "expected_tool_use": [{"tool_name": "f", "tool_input": {"a": 1}}], "reference": "Hello."}, {"query": "Bye", "expected_tool_use": [], "reference": "Bye."}]`,
				"x/test_config.json", `{"criteria": {
"tool_trajectory_avg_score": {"threshold": 0.5, "match_type": "ANY_ORDER"},
"hallucinations_v1": {"threshold": 0.5}, "safety_v1": 0.8}}`,
			},
			want: []string{
				"note x/test_config.json:2: not carried: the threshold 0.5 of tool_trajectory_avg_score: the calls of every turn have to match",
				"note x/test_config.json:3: not carried: criterion safety_v1",
				"case a", `  Hi {"calls":{"others":true,"items":[{"name":"f","args":{"a":1}}]},"answer":{"all":[{"grounded":true}]}}`, `  Bye {"no_call":true,"answer":{"all":[{"grounded":true}]}}`,
			},
		},
		"a table": {
			files: []string{"t.csv", "\xef\xbb\xbfQuestion;Expected answer;Category\n\"two\nlines\";yes;x\nq2;no;y;z\nq3;;y\n"},
			want: []string{
				"case t-2", "  two\nlines {\"answer\":{\"all\":[{\"contains\":\"yes\"}]}}", "case t-5", "  q3 {}",
				`note t.csv: "Question" is taken as the question; choose another one with --map user=NAME`,
				`note t.csv: "Expected answer" is taken as what the answer has to be (contains); choose another one with --map contains=NAME`,
				"not t.csv:4: the row has 4 fields, and the first line names 3 columns",
			},
		},
		"a table of promptfoo": {
			opts:  importers.Options{Map: map[string]string{"user": "q"}},
			files: []string{"t.csv", "q,__expected,__expected1\nhi,icontains: Hello,llm-rubric: It greets\nbye,fn: output.length,similar(0.8): Bye\n"},
			want: []string{
				"case t-2", `  hi {"answer":{"all":[{"regex":"(?i)Hello"},{"judge":"It greets"}]}}`,
				"note t.csv:3: not carried: fn assert", "case t-3", `  bye {"answer":{"all":[{"like":"Bye"}]}}`,
			},
		},
		"promptfoo": {
			files: []string{"promptfooconfig.yaml", `prompts:
  - "Translate {{ text }} to {{lang}}"
  - "{% if x %}{{text}}{% endif %}"
providers: [openai:gpt-4o]
defaultTest:
  assert:
    - type: latency
      threshold: 2000
assertionTemplates:
  kind: {type: llm-rubric, value: "It is kind to {{text}}"}
tests:
  - description: first
    vars: &vars {text: Hi, lang: [French, German]}
    assert:
      - {type: contains-any, value: [Salut, Hallo]}
      - {type: not-regex, value: "\\d"}
      - $ref: "#/assertionTemplates/kind"
      - type: javascript
        value: output.length < 10
  - vars:
      <<: *vars
      lang: Thai
    assert:
      - {type: "trajectory:tool-used", value: dictionary}
      - {type: "not-trajectory:tool-used", value: browser}
      - {type: is-refusal}
      - {type: context-faithfulness, threshold: 0.8}
      - {type: not-icontains, value: sorry}
      - {type: regex, value: "("}
      - {type: equals, value: x, transform: output.trim()}
    options:
      transform: output.toUpperCase()
`},
			want: []string{
				"note promptfooconfig.yaml:7: not carried: latency assert (threshold 2000)", "note promptfooconfig.yaml:18: not carried: javascript assert",
				"case promptfooconfig-12", `  Translate Hi to French {"answer":{"all":[{"not_regex":"\\d"},{"judge":"It is kind to Hi"}],"any":[{"contains":"Salut"},{"contains":"Hallo"}]}}`,
				"note promptfooconfig.yaml:7: not carried: latency assert (threshold 2000)", "note promptfooconfig.yaml:18: not carried: javascript assert",
				"case promptfooconfig-12-2", `  Translate Hi to German {"answer":{"all":[{"not_regex":"\\d"},{"judge":"It is kind to Hi"}],"any":[{"contains":"Salut"},{"contains":"Hallo"}]}}`,
				"note promptfooconfig.yaml:32: not carried: transform (output.toUpperCase())",
				"note promptfooconfig.yaml:7: not carried: latency assert (threshold 2000)", "note promptfooconfig.yaml:29: not carried: regex assert: error parsing regexp: missing closing ): `(`",
				"note promptfooconfig.yaml:30: not carried: equals assert: its transform is code, which is not run",
				"case promptfooconfig-20", `  Translate Hi to Thai {"calls":{"others":true,"items":[{"name":"dictionary"}],"forbid":[{"name":"browser"}]},"guardrail":"refuse","answer":{"all":[{"grounded":true},{"not_regex":"(?i)sorry"}]}}`,
				`not promptfooconfig.yaml:3: with the test at promptfooconfig.yaml:12: the template has code, which is not run: "{% if x %}{{text}}{% endif %}"`,
				`not promptfooconfig.yaml:3: with the test at promptfooconfig.yaml:12: the template has code, which is not run: "{% if x %}{{text}}{% endif %}"`,
				`not promptfooconfig.yaml:3: with the test at promptfooconfig.yaml:20: the template has code, which is not run: "{% if x %}{{text}}{% endif %}"`,
			},
		},
		"promptfoo's tests without prompts": {
			files: []string{"c.yaml", "providers: [x]\ntests:\n- vars: {prompt: Hi}\n  assert: [{type: icontains-all, value: 'a, b'}]\n", "t.yaml", "- vars: {x: 1}\n"},
			want: []string{
				"case c-3", `  Hi {"answer":{"all":[{"regex":"(?i)a"},{"regex":"(?i)b"}]}}`,
				"not t.yaml:1: these are promptfoo's tests, and the prompts are in a config that names them: give that",
			},
		},
		"rows with criteria": {
			files: []string{"r.json", `[{"id": "a", "prompt": "Hi", "criteria": ["It greets."]}]`, "s.json", `[{"id": "b", "prompt": "Bye", "criteria": {"tone": 1}}, {"id": "d", "prompt": "D", "criteria": {"tone": 2}}]`, "t.json", `{"id": "c", "prompt": "One", "criteria": "It is one."}`},
			want: []string{
				"case a", "  Hi {}", "case b", "  Bye {}", "case d", "  D {}", "case c", "  One {}",
				`note r.json: "prompt" is taken as the question; choose another one with --map user=NAME`,
				"note r.json: nothing of it is taken as what the answer has to be: it has criteria, id, prompt; choose it with --map contains=NAME",
				`note s.json: "prompt" is taken as the question; choose another one with --map user=NAME`,
				"note s.json: nothing of it is taken as what the answer has to be: it has criteria, id, prompt; choose it with --map contains=NAME",
				`note t.json: "prompt" is taken as the question; choose another one with --map user=NAME`,
				"note t.json: nothing of it is taken as what the answer has to be: it has criteria, id, prompt; choose it with --map contains=NAME",
			},
		},
		"a chosen format": {
			opts:  importers.Options{Format: "adk"},
			files: []string{"d.json", `{"item": {}}`},
			want:  []string{"not d.json:1: this is not adk: it lacks eval_cases with conversations, or a list with query; it has item"},
		},
		"aliases that multiply": {
			files: []string{"b.yaml", "prompts: &a [x,x,x,x,x,x,x,x,x,x]\ntests: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: &f [*e,*e,*e,*e,*e,*e,*e,*e,*e,*e]\ng: [*f,*f,*f,*f,*f,*f,*f,*f,*f,*f]\n"},
			want:  []string{"not b.yaml:6: the values of the file have more than 268435456 bytes, or they are nested more than 200 deep"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var files []importers.File
			for i := 0; i < len(test.files); i += 2 {
				files = append(files, importers.File{Name: test.files[i], Data: []byte(test.files[i+1])})
			}
			made, faults := importers.Read(test.opts, files...)
			if diff := cmp.Diff(test.want, lines(t, made, faults)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestRead_namedFiles: promptfoo's configs name files beside them, and nothing outside their folder is read.
func TestRead_namedFiles(t *testing.T) {
	dir := t.TempDir()
	config := filepath.Join(dir, "in", "promptfooconfig.yaml")
	for name, text := range map[string]string{
		"in/promptfooconfig.yaml": "prompts: [file://p/*.txt, file://chat.json, file://../secret.txt, file://code.py]\ntests: [file://tests.csv, file://gone.yaml]\ndescription: x\n",
		"in/p/a.txt":              "Say {{x}}\n---\nShout {{x}}",
		"in/chat.json":            `[{"role": "system", "content": "Be brief."}, {"role": "user", "content": "{{x}}?"}]`,
		"in/tests.csv":            "x,__expected\nfile://word.txt,contains: word\n",
		"in/word.txt":             "word\n",
		"secret.txt":              "a secret",
	} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	data, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	made, faults := importers.Read(importers.Options{}, importers.File{Name: config, Data: data})
	got := strings.Split(strings.ReplaceAll(strings.Join(lines(t, made, faults), "\n"), filepath.Join(dir, "in")+string(filepath.Separator), ""), "\n")
	want := []string{
		"case tests-2", `  Say word {"answer":{"all":[{"contains":"word"}]}}`, "case tests-2-2", `  Shout word {"answer":{"all":[{"contains":"word"}]}}`,
		"case tests-2-3 system=Be brief.", `  word? {"answer":{"all":[{"contains":"word"}]}}`,
		"not promptfooconfig.yaml:1: prompt: " + filepath.FromSlash("../secret.txt") + " lies outside the folder of promptfooconfig.yaml: give it as another FILE",
		"not promptfooconfig.yaml:1: prompt file://code.py is code, or a file of a form that is not read",
		"not promptfooconfig.yaml:2: gone.yaml is not there: give it too, or leave out what names it",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestRead_multiplies: a short file cannot fill the memory or the stack.
func TestRead_multiplies(t *testing.T) {
	config := "prompts: ['{{c}}']\nproviders: [x]\n"
	many := func(s string) string { return strings.Repeat(s, 20_000) }
	for name, test := range map[string]struct{ text, want string }{
		"a set of asserts in itself": {config + "s: {type: assert-set, assert: [{$ref: '#/s'}]}\ntests: [{vars: {c: x}, assert: [{$ref: '#/s'}]}]\n", "note p.yaml:3: not carried: sets of asserts in more than 10 others"},
		"variables in variables":     {config + "tests: [{vars: {a: " + strings.Repeat("x", 1000) + ", b: '" + strings.Repeat("{{a}}", 1000) + "', c: '" + strings.Repeat("{{b}}", 1000) + "'}}]\n", "the values in a template have more than 1048576 bytes"},
		"lists of variables":         {config + "tests: [{vars: {c: [" + strings.Repeat("x,", 5000) + "]," + strings.Repeat("k", 10) + ": [1, 2], " + numbered(200) + "}}]\n", "or 1048576 variables in all"},
		"a long alias":               {"t: &t " + many("x") + "\n" + config + "tests: [{vars: {c: {z: [" + many("*t,") + "]}}}]\n", "the values of the file have more than 268435456 bytes"},
		"brackets":                   {many("["), "not p.yaml:1: it is nested more than 200 deep"},
		"dashes":                     {many("- "), "not p.yaml:1: it is nested more than 200 deep"},
		"anchors":                    {many("&a "), "not p.yaml:1: "},
	} {
		made, faults := importers.Read(importers.Options{}, importers.File{Name: "p.yaml", Data: []byte(test.text)})
		if got := strings.Join(lines(t, made, faults), "\n"); !strings.Contains(got, test.want) {
			t.Errorf("%s: %.400s", name, got)
		}
	}
	made, faults := importers.Read(importers.Options{}, importers.File{Name: "r.jsonl", Data: []byte(many(`{"id": "x", "input": "a", "ideal": "b"}` + "\n"))})
	if len(faults) > 0 || made[0].Case.ID != "x" || made[1].Case.ID != "x-2" || made[19_999].Case.ID != "x-20000" {
		t.Errorf("the same id: %v", faults)
	}
}

func numbered(n int) string {
	var all []string
	for i := range n {
		all = append(all, fmt.Sprintf("v%d: x", i))
	}
	return strings.Join(all, ", ")
}

// FuzzRead: whatever a file holds, it becomes cases that load, or errors with its name.
func FuzzRead(f *testing.F) {
	for _, text := range []string{
		`{"item": {"input": [{"role": "user", "content": "x"}], "ideal": ["y"]}, "sample": {"output_text": "z"}}`,
		`{"id": "r", "object": "response", "input": "x", "output": [{"type": "mcp_call", "id": "m", "name": "n"}]}`,
		`{"messages": [{"message": {"message": {"role": "user", "content": "x"}}}]}`,
		`{"eval_cases": [{"eval_id": "e", "conversation": [{"user_content": {"parts": [{"text": "x"}]}}]}]}`,
		`[{"query": "x", "expected_tool_use": [{"tool_name": "f"}]}]`,
		`{"sessionId": "s", "messages": [{"id": "1", "type": "user", "content": "x"}, {"type": "gemini", "toolCalls": [{"name": "f", "args": {}}]}]}`,
		"prompts: ['{{a}}']\nscenarios:\n- config: [{vars: {a: [1, 2]}}]\n  tests: [{assert: [{type: contains-all, value: 'a, b'}]}]\n",
		`{"testing_criteria": [{"type": "score_model", "input": "x"}], "data_source": {"source": {"content": [{"item": {"input": "x"}}]}}}`,
		"x.v0:\n  class: a:Match\n", "q,__expected\nx,equals:y\n",
	} {
		for _, name := range []string{"f.json", "f.yaml", "f.csv"} {
			f.Add(name, text)
		}
	}
	f.Fuzz(func(t *testing.T, name, text string) {
		made, faults := importers.Read(importers.Options{}, importers.File{Name: filepath.Base(name), Data: []byte(text)})
		for _, one := range made {
			if one.Case.ID != "" {
				mustLoad(t, one.Case)
			}
			for _, turn := range one.Case.Turns {
				if strings.TrimSpace(turn.User) == "" {
					t.Errorf("case %q has a turn without a text", one.Case.ID)
				}
			}
			if one.Case.ID != "" && one.Case.V != eval.CaseVersion {
				t.Errorf("case %q has no version", one.Case.ID)
			}
		}
		if len(made) == 0 && len(faults) == 0 && strings.TrimSpace(text) != "" && !strings.HasSuffix(name, ".csv") && !strings.HasSuffix(name, ".yaml") {
			t.Error("nothing became of the file, and nothing is said")
		}
	})
}
