package eval_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"molar/eval"
	"molar/eval/tape"
	"molar/schemas"
)

// turn returns a turn with a call for each result: JSON, or a text.
func turn(user, answer string, results ...string) tape.Turn {
	t := tape.Turn{User: user, Answer: answer}
	for _, r := range results {
		c := tape.TurnCall{Done: true, Output: json.RawMessage(r)}
		c.Call = schemas.ToolCall{}
		c.Call.Function.Name = "f"
		if !json.Valid(c.Output) {
			c.Output, _ = json.Marshal(r)
		}
		t.Calls = append(t.Calls, c)
	}
	return t
}

func proposed(turns ...tape.Turn) []string {
	var all []string
	for _, p := range eval.Propose(turns) {
		if p.Check.Number != nil {
			all = append(all, fmt.Sprint(*p.Check.Number))
			continue
		}
		all = append(all, p.Check.Contains)
	}
	return all
}

func TestPropose(t *testing.T) {
	for _, test := range []struct {
		name, user, answer string
		results            []string
		want               []string
	}{
		{
			"JSON", "Show me family 1a955fff-ce01", "Family Nguyen has 2 members: Nguyen Van A, born 1970-01-01, and Nguyen Van B, born 1995-05-05.",
			[]string{`{"familyId":"1a955fff-ce01","name":"Nguyen","members":[{"id":"m1","name":"Nguyen Van A","dob":"1970-01-01"},{"id":"m2","name":"Nguyen Van B","dob":"1995-05-05"}]}`},
			[]string{"Nguyen Van A", "1970-01-01", "Nguyen Van B", "1995-05-05"},
		},
		{
			"JSON in a text", "Who is it?", "It is **Trần Thị Hà** (33 tuổi), sống ở Đà Nẵng.",
			[]string{`"{\"ten\":\"Trần Thị Hà\",\"tuoi\":33,\"noi\":\"Đà Nẵng\",\"con\":1,\"ok\":true}"`},
			[]string{"Trần Thị Hà", "33", "Đà Nẵng"},
		},
		{
			"a table", "Which tickets are open?", "Zwei Tickets sind offen: INV-2024/17 (Müller, 1.250,50 €) und INV-2024/19 von Anna Groß.",
			[]string{"| Nummer | Kunde | Betrag |\n|---|---|---|\n| INV-2024/17 | Müller | 1250.50 |\n| INV-2024/18 | Schulz | 99.00 |\n| INV-2024/19 | Anna Groß | 17.30 |"},
			[]string{"INV-2024/17", "Müller", "1.250,50", "INV-2024/19", "Anna Groß"},
		},
		{
			"prose", "When does it leave?", "The night train to Wien Hauptbahnhof leaves at 21:47 from platform 12.",
			[]string{"There are two connections. The regional express leaves at 17:02. The night train goes to Wien Hauptbahnhof and leaves the station at 21:47, from platform 12; the fare is 59.90."},
			[]string{"Wien Hauptbahnhof", "21:47", "12"},
		},
		{
			"Vietnamese", "Ai là chủ hộ?", "Chủ hộ là **Nguyễn Văn An**, ở số 12 đường Lê Lợi, Quận 1, TP. Hồ Chí Minh, nợ 1.250.000 đồng.",
			[]string{"Khách hàng Nguyễn Văn An ở số 12 đường Lê Lợi, Quận 1, TP. Hồ Chí Minh; số tiền 1250000 đồng."},
			[]string{"Nguyễn Văn An", "12", "Lê Lợi", "Quận 1", "Hồ Chí Minh", "1.250.000"},
		},
		{
			"Japanese", "誰ですか", "担当は田中太郎さんで、1995年5月5日に東京都渋谷区で生まれました。社員番号は120です。",
			[]string{`{"name":"田中太郎","note":"出身は東京都渋谷区、誕生日は1995年5月5日。","no":120,"rank":"部"}`},
			[]string{"田中太郎", "1995年5月5日", "東京都渋谷区", "120"},
		},
		{
			"Arabic digits", "كم السعر؟", "السعر هو ١٬٢٣٤٫٥ ريال.", []string{`{"price":1234.5}`}, []string{"١٬٢٣٤٫٥"},
		},
		{"grouped", "How many?", "There are 1,234,567 people.", []string{`{"n":1234567}`}, []string{"1.234567e+06"}},
		{"German", "Wie viele?", "Es sind 1.234.567 Menschen, also 12,5 %.", []string{`{"n":1234567,"p":12.5}`}, []string{"1.234.567", "12,5"}},
		{"punctuation", "x", "Es sind -12.5 Grad laut Klima (DWD), Bonn.", []string{`{"t":-12.5,"q":"Klima (DWD)"}`, "# Orte\n- Bonn"}, []string{"-12.5", "Klima (DWD)", "Bonn"}},
		{"Thai", "ใคร", "คุณสมชาย ใจดี อายุ 45 ปี อยู่กรุงเทพ", []string{`{"n":"สมชาย ใจดี","a":45,"t":"เขาอยู่กรุงเทพ"}`}, []string{"สมชาย ใจดี", "45"}},
		{"French", "Combien ?", "Il y en a 1\u202f234,5.", []string{"Il y en a 1234.50 au total"}, []string{"1\u202f234,5"}},
		{"an amount in a text", "How much?", "It costs 1,250.50 dollars.", []string{"Preis: 1.250,50 EUR"}, []string{"1250.5"}},
		{"parts of numbers and words", "x", "In 1995-05-05 and 11.55, an Anaconda, abc123.", []string{`{"a":1995,"b":1.55,"c":"Ana","d":"abc1","e":55,"f":"05"}`}, nil},
		{"what says little", "x", "1 is true, a 5 and OK 0.", []string{`{"n":1,"m":5,"z":0,"s":"a","t":true}`}, nil},
		{"what was asked", "Find the family Nguyen and ticket AB-12", "The family nguyen NGUYEN Nguyen has ticket AB-12.", []string{`{"name":"Nguyen","t":"AB-12"}`}, nil},
		{"a secret", "x", "The key is [REDACTED:openai_key:12345678], of 1999.", []string{`{"key":"[REDACTED:openai_key:12345678]","h":"12345678","y":1999}`}, []string{"1999"}},
		{"a secret that is cut off", "x", "The key is [REDACTED:openai_key:1234", []string{"The key is [REDACTED:openai_key:1234", `{"name":"openai_key:1234"}`}, nil},
		{"two calls", "x", "Second Beta, first Alpha.", []string{`{"v":"Alpha"}`, `{"v":"Beta","w":"Alpha"}`}, []string{"Alpha", "Beta"}},
		{"a phrase of common words", "x", "It is one of the best of the worst.", []string{"one of the a, of the b, of the c, one of the d"}, nil},
		{"a whole paragraph", "x", strings.Repeat("many words of one paragraph ", 20), []string{strings.Repeat("many words of one paragraph ", 20)}, nil},
		{"nothing", "x", "", []string{`{}`, `""`, "[1,2", `null`}, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, proposed(turn(test.user, test.answer, test.results...))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestPropose_turns: what an answer has of the result of an earlier turn is proposed for that answer, too, and
// nothing of a call that failed.
func TestPropose_turns(t *testing.T) {
	first, second := turn("Who is it?", "It is Nguyen Van A.", `{"name":"Nguyen Van A","dob":"1970-01-01"}`), turn("And born?", "On 1970-01-01, in Hanoi.", `{"place":"Hanoi"}`)
	second.Calls[0].IsError = true
	var got []string
	for _, p := range eval.Propose([]tape.Turn{first, second}) {
		got = append(got, fmt.Sprintf("%d %s", p.Turn, p))
	}
	if diff := cmp.Diff([]string{"0 contains: Nguyen Van A  (call 1, f)", "1 contains: 1970-01-01  (call 1, f)"}, got); diff != "" {
		t.Error(diff)
	}
}

// checkProposals fails the test unless each proposal passes on its recording, says something, and is proposed
// once.
func checkProposals(t *testing.T, turns []tape.Turn) {
	t.Helper()
	of := make(map[int][]eval.Proposal)
	for _, p := range eval.Propose(turns) {
		text, answer := p.Check.Contains, turns[p.Turn].Answer
		switch {
		case !eval.Passes(p.Check, answer):
			t.Errorf("%s is proposed for %q", p, answer)
		case p.Check.Number == nil && (len(text) < 2 || strings.ContainsAny(text, "\n\x00") || strings.Contains(text, "[REDACTED")):
			t.Errorf("%q is proposed for %q", text, answer)
		}
		for _, other := range of[p.Turn] {
			if text != "" && other.Check.Contains != "" && (strings.Contains(other.Check.Contains, text) || strings.Contains(text, other.Check.Contains)) {
				t.Errorf("%q and %q are proposed", text, other.Check.Contains)
			}
		}
		if of[p.Turn] = append(of[p.Turn], p); len(of[p.Turn]) > eval.MaxProposals {
			t.Errorf("%d are proposed", len(of[p.Turn]))
		}
	}
}

func TestPropose_suites(t *testing.T) {
	cases, err := eval.Load("suites")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, c := range cases {
		recorded, err := c.ReadTape()
		if err != nil {
			t.Fatal(err)
		}
		checkProposals(t, recorded.Turns)
		for _, p := range eval.Propose(recorded.Turns) {
			t.Logf("%s, turn %d: %s", c.ID, p.Turn+1, p)
			n++
		}
	}
	if n < 30 {
		t.Errorf("%d checks are proposed", n)
	}
}

func FuzzPropose(f *testing.F) {
	f.Add("Who?", "Nguyen Van A, 1.234,5 and 1995-05-05", `{"name":"Nguyen Van A","n":1234.5,"t":"born on 1995-05-05"}`)
	f.Add("誰", "田中太郎は120歳、١٢٣", "| 田中太郎 | 120 | 123 |")
	f.Fuzz(func(t *testing.T, user, answer, result string) {
		checkProposals(t, []tape.Turn{turn(user, answer, result), turn(answer, result, user)})
	})
}

// TestPropose_long: a long result and answer take no more time than a person waits.
func TestPropose_long(t *testing.T) {
	var rows, said []string
	for i := range 20000 {
		rows = append(rows, fmt.Sprintf("| row %d of the table | %d.%02d |", i, i, i%100))
		said = append(said, fmt.Sprintf("the row %d has %d.%02d", i, i, i%100))
	}
	begin := time.Now()
	checkProposals(t, []tape.Turn{turn("x", strings.Join(said, ", "), strings.Join(rows, "\n"), strings.Join(rows, "\n"))})
	if took := time.Since(begin); took > 20*time.Second {
		t.Errorf("%v", took)
	}
	t.Log(time.Since(begin))
}
