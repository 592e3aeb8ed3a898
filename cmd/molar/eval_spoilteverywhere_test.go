package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"molar/eval"
	"molar/eval/tape"
)

// harmless returns why nobody calls a place of a tape the result, so that it may be spoilt; "" if
// somebody does.
func harmless(where, how string) string {
	switch {
	case where == "header.header.host", where == "header.header.recorded", where == "header.header.tape_id":
		return "which program recorded, and when"
	case slices.ContainsFunc([]string{".base_url", ".small_model", ".rest.", ".settings."}, func(part string) bool {
		return strings.HasPrefix(where, "header") && strings.Contains(where, part)
	}):
		return "what the config named: the requests have what was used"
	case where == "model_request.body.messages[].content" && how == "removed":
		return "an empty text"
	case where == "user.conversation":
		return "which conversation it was"
	case strings.HasPrefix(where, "unused server"):
		return "the handshake of a server of which nothing is offered or called: a turn does not wait for it"
	case strings.HasPrefix(where, "probe"):
		return "a look-up of models, which a replay also answers without the tape"
	case how == "line exchanged with the next":
		return "the order of lines of which none needs the other"
	}
	return ""
}

// A spoilTape is a tape that was spoilt at one place.
type spoilTape struct {
	place string // such as "answer.done.usage.total_tokens, changed"
	text  string
}

// TestEval_spoiltEverywhere spoils tapes at every place: each value of each line is changed and taken
// away, each line is taken away, doubled, and exchanged with the next. A replay must see it, unless the place is harmless.
func TestEval_spoiltEverywhere(t *testing.T) {
	long(t, "thousands of tapes are replayed")
	t.Parallel()
	dir := t.TempDir()
	for _, folder := range []string{"eval/suites", "examples"} {
		if err := os.CopyFS(filepath.Join(dir, folder), os.DirFS("../../"+folder)); err != nil {
			t.Fatal(err)
		}
	}
	counts := make(map[string][2]int) // seen and green, by class
	for suite, ids := range map[string][]string{
		"family":    {"family-two-details", "family-follow-up"}, // parallel calls, two turns; no judge
		"dental":    {"dental-caries"},
		"providers": {"providers-own"}, // a judge of another provider
	} {
		for _, id := range ids {
			spoilEverywhere(t, filepath.Join(dir, "eval/suites", suite), id, counts)
		}
	}
	for _, class := range slices.Sorted(maps.Keys(counts)) {
		t.Logf("%-60s %5d seen %5d green", class, counts[class][0], counts[class][1])
	}
}

func spoilEverywhere(t *testing.T, folder, id string, counts map[string][2]int) {
	t.Helper()
	cases, err := eval.Load(filepath.Join(folder, "cases.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	c := cases[slices.IndexFunc(cases, func(c eval.Case) bool { return c.ID == id })]
	forms := spoilt(t, strings.Replace(readText(t, c.TapeFile()), `"case":"`+id+`",`, "", 1))
	if err := os.Mkdir(filepath.Join(folder, "spoilt"), 0o700); err != nil && !os.IsExist(err) {
		t.Fatal(err)
	}
	count := func(place string, seen bool) {
		where, how, _ := strings.Cut(place, ", ")
		n := counts[how]
		if seen {
			n[0]++
		} else {
			n[1]++
			if harmless(where, how) == "" {
				t.Errorf("%s: %s: nobody sees it", id, place)
			}
		}
		counts[how] = n
	}
	var rest []eval.Case
	places := make(map[string]string)
	for i, s := range forms {
		if _, err := tape.Read("", []byte(s.text)); err != nil {
			count(s.place, true)
			continue
		}
		c.ID, c.Tape = fmt.Sprintf("%s-%d", id, i), fmt.Sprintf("spoilt/%s-%d.jsonl", id, i)
		put(t, filepath.Join(folder, c.Tape), []byte(s.text))
		places[c.ID] = s.place
		if !strings.HasPrefix(s.place, "header") {
			rest = append(rest, c)
			continue
		}
		all, err := replayed(t, filepath.Join(folder, id+".jsonl"), c) // alone, since a run may refuse it
		count(s.place, err != nil || all[0].Status != eval.StatusPass)
	}
	all, err := replayed(t, filepath.Join(folder, id+".jsonl"), rest...)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range all {
		if place := places[r.ID]; place != "nothing" {
			count(place, r.Status != eval.StatusPass)
		} else if r.Status != eval.StatusPass {
			t.Errorf("%s: the tape that nothing happened to: %s", id, r.Why)
		}
	}
}

// replayed runs cases. err says why a run refuses them.
func replayed(t *testing.T, file string, cases ...eval.Case) ([]eval.CaseResult, error) {
	t.Helper()
	var lines strings.Builder
	for _, c := range cases {
		line, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		lines.Write(append(line, '\n'))
	}
	put(t, file, []byte(lines.String()))
	_, stdout, stderr := evalRun(t, nowhere, "eval", "run", "--quiet", "--json", "-", file)
	var rep eval.Report
	if err := json.Unmarshal([]byte(stdout), &rep); err != nil {
		return nil, fmt.Errorf("%w: %s", err, stderr)
	}
	return rep.Cases, nil
}

// spoilt returns all spoilt forms of a tape, and first the tape itself.
func spoilt(t *testing.T, text string) []spoilTape {
	t.Helper()
	lines := slices.Collect(strings.Lines(text))
	all := []spoilTape{{"nothing", text}}
	probes := make(map[string]bool)
	with := func(place string, from, to int, by ...string) {
		all = append(all, spoilTape{place, strings.Join(slices.Replace(slices.Clone(lines), from, to, by...), "")})
	}
	for i, line := range lines {
		var record map[string]any
		dec := json.NewDecoder(strings.NewReader(line))
		dec.UseNumber()
		if err := dec.Decode(&record); err != nil {
			t.Fatal(err)
		}
		kind, _ := record["type"].(string)
		if server, _ := record["server"].(string); kind == "mcp" && !strings.Contains(text, server+"__") {
			kind = "unused server"
		}
		seq := fmt.Sprint(record["seq"])
		if probes[seq] = probes[seq] || record["pass"] == "probe"; probes[seq] {
			kind = "probe"
		}
		encoded := func() string {
			data, err := json.Marshal(record)
			if err != nil {
				t.Fatal(err)
			}
			return string(data) + "\n"
		}
		var walk func(place string, v any, set func(any), remove func())
		walk = func(place string, v any, set func(any), remove func()) {
			switch v := v.(type) {
			case map[string]any:
				for _, key := range slices.Sorted(maps.Keys(v)) {
					value := v[key]
					walk(place+"."+key, value, func(to any) { v[key] = to }, func() { delete(v, key) })
					v[key] = value
				}
				return
			case []any:
				for j, value := range v {
					walk(place+"[]", value, func(to any) { v[j] = to }, func() { v[j] = nil })
					v[j] = value
				}
				return
			case string:
				set(v + "x")
			case json.Number:
				n, _ := v.Int64()
				set(n + 1)
			case bool:
				set(!v)
			default:
				set("x")
			}
			with(place+", changed", i, i+1, encoded())
			if v != "" && v != false && v != json.Number("0") { // such a value is like none
				remove()
				with(place+", removed", i, i+1, encoded())
			}
		}
		walk(kind, record, nil, nil)
		with(kind+", line removed", i, i+1)
		with(kind+", line doubled", i, i+1, line, line)
		if i+1 < len(lines) {
			with(kind+", line exchanged with the next", i, i+2, lines[i+1], line)
		}
	}
	return all
}
