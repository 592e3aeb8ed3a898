package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"molar/internal/httpguard"
	"molar/internal/testkit/models"
	"molar/internal/testkit/npm"
	"molar/schemas"
)

// What the scripted model reports for each call, and the limits of the budgets, in tokens. None of
// the limits is a multiple of a call.
const (
	budgetPrompt = 100
	budgetCall   = budgetPrompt + 20
	budgetPerson = 1_300
	budgetKey    = 2_000
	budgetGroup  = 9_500
	budgetSales  = 7_300
	budgetAll    = 44_000
)

// budgetMatrix has a budget of each kind. The people of desk are bounded by their own budget, those of
// staff and sales by that of their group, and the admins, who come last, by that of all.
func budgetMatrix() string {
	return fmt.Sprintf(`groups:
  desk: {assistants: [plain, dental]}
  staff: {assistants: [plain]}
  sales: {assistants: [plain]}
  admins: {scopes: [chat, admin, metrics], assistants: [plain]}
budgets:
  all: {per: month, tokens: %d}
  person: {per: day, tokens: %d}
  key: {per: day, tokens: %d}
  group: {per: month, tokens: %d}
  groups:
    desk: {per: month, tokens: 1000000}
    sales: {per: day, tokens: %d}
    admins: {per: month, tokens: 1000000}
`, budgetAll, budgetPerson, budgetKey, budgetGroup, budgetSales)
}

// A spender asks until a budget is used up.
type spender struct {
	visitor
	mu sync.Mutex
	// refused is the last refusal that is not only for the moment, and wait its Retry-After.
	refused string
	wait    time.Duration
	// warned counts the warnings.
	warned int
	// away is set if the store once did not answer in time: the warning may have been in its answer.
	away bool
}

// spend asks in one conversation until a budget is used up.
func (s *spender) spend(t *testing.T, c *crowd, lane int) {
	body := fmt.Sprintf(`{"model":"plain","chat_id":"chat_%d","max_tokens":60,"messages":[{"role":"user","content":"Count"}]}`, lane)
	for range 400 {
		res, text, err := c.send(&s.visitor, http.MethodPost, "/v1/chat/completions", body)
		if err != nil {
			t.Errorf("%s asks: %v", s.name, err)
			return
		}
		var a struct{ Molar molarNote }
		if err := json.Unmarshal([]byte(text), &a); err != nil {
			t.Errorf("%s asks: %v: %s", s.name, err, text)
			return
		}
		wait, _ := strconv.Atoi(res.Header.Get("Retry-After"))
		s.mu.Lock()
		s.warned += strings.Count(strings.Join(a.Molar.Warnings, "\n"), "four fifths")
		if res.StatusCode == http.StatusTooManyRequests && !strings.Contains(text, "have reserved") {
			s.refused, s.wait = text, time.Duration(wait)*time.Second
		}
		away := res.StatusCode == http.StatusServiceUnavailable && strings.Contains(text, `"store_unavailable"`)
		s.away = s.away || away
		done := s.refused != ""
		s.mu.Unlock()
		switch {
		case done:
			return
		case res.StatusCode == http.StatusTooManyRequests: // running calls have reserved the rest
			if wait != 5 {
				t.Errorf("%s is to wait %d s: %s", s.name, wait, text)
			}
			time.Sleep(20 * time.Millisecond)
		case away: // a busy machine
			time.Sleep(time.Second)
		case res.StatusCode != http.StatusOK:
			t.Errorf("%s asks: %d %s", s.name, res.StatusCode, text)
			return
		}
	}
	t.Errorf("no budget of %s is ever used up", s.name)
}

// spendAll lets several spenders ask at once, each in several conversations.
func spendAll(t *testing.T, c *crowd, all []*spender) {
	t.Helper()
	const lanes = 3
	var group sync.WaitGroup
	for _, s := range all {
		for lane := range lanes {
			group.Go(func() { s.spend(t, c, lane) })
		}
	}
	group.Wait()
}

// exactly checks what was used of a budget: all of it, and at most one call more.
func exactly(t *testing.T, budget string, used, limit int64) {
	t.Helper()
	if used < limit || used >= limit+budgetCall {
		t.Errorf("%d tokens of the budget %s were used, want at least %d and less than a call of %d more", used, budget, limit, budgetCall)
	}
}

// People of several groups and programs with keys ask three replicas at once until every budget is used
// up, and none is exceeded by more than one call. All are told when it begins anew, on every route, and
// the notice of an emergency still comes.
func TestReplicas_Budgets(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("the crowd is left out of short tests")
	}
	now := time.Now().UTC()
	tomorrow := now.Truncate(24*time.Hour).AddDate(0, 0, 1)
	if time.Until(tomorrow) < 5*time.Minute {
		t.Skip("the budgets of the day are about to begin anew")
	}
	month := time.Date(now.Year(), now.Month()+1, 1, 0, 0, 0, 0, time.UTC)
	var calls atomic.Int64
	model := startModel(t, models.Config{Interval: 2 * time.Millisecond, Script: func(models.Request) *models.Reply {
		calls.Add(1)
		return models.Text(strings.Repeat("one ", budgetCall-budgetPrompt-1) + "end")
	}})
	provider := npm.StartProvider(t, callbackPath)
	config := "assistants: {plain: {description: x, tools: []}, dental: {topic: dental}}\n" + budgetMatrix() + providerConfig(provider) + "api_keys:\n"
	var first, programs, last []*spender
	for i := range 3 {
		name := fmt.Sprintf("program%d", i)
		key := deskKey(name)
		config += fmt.Sprintf("  - {name: %s, hash: %q, scopes: [chat]}\n", name, httpguard.HashOf(key).String())
		programs = append(programs, &spender{visitor: visitor{name: name, client: &http.Client{Transport: bearer(key)}}})
	}
	c := &crowd{hosts: replicas(t, model, 3, config)}
	for group, n := range map[string]int{"desk": 8, "staff": 12, "sales": 10, "admins": 10} {
		for i := range n {
			s := &spender{visitor: visitor{name: fmt.Sprintf("%s-%d", group, i), group: group, client: npm.Browser(nil)}}
			c.enter(t, provider, &s.visitor, i)
			if group == "admins" {
				last = append(last, s)
			} else {
				first = append(first, s)
			}
		}
	}
	if t.Failed() {
		return
	}
	spendAll(t, c, append(first, programs...))
	before := calls.Load()
	for _, s := range first {
		if s.group == "desk" {
			s.everywhere(t, c, tomorrow)
		}
	}
	if n := calls.Load() - before; n != 0 {
		t.Errorf("the model was asked %d times after the budgets were used up", n)
	}
	spendAll(t, c, last)
	if t.Failed() {
		return
	}
	operator := &last[0].visitor
	sums := c.usage(t, operator, calls.Load()*budgetCall)
	exactly(t, "all", sums["provider"]["ollama"], budgetAll)
	exactly(t, "group:staff", sums["group"]["staff"], budgetGroup)
	exactly(t, "group:sales", sums["group"]["sales"], budgetSales)
	for _, s := range programs {
		exactly(t, s.name, sums["key"][c.me(t, &s.visitor).ID], budgetKey)
		s.told(t, "today's budget of yours is used up", tomorrow)
	}
	for _, s := range first {
		switch s.group {
		case "desk":
			exactly(t, s.name, sums["person"]["oidc:"+provider.Issuer+"#"+s.name], budgetPerson)
			s.told(t, "today's budget of yours is used up", tomorrow)
			if s.warned > 1 || s.warned == 0 && !s.away {
				t.Errorf("%s was warned %d times", s.name, s.warned)
			}
		case "staff":
			s.told(t, "this month's budget of the group staff is used up", month)
		case "sales":
			s.told(t, "today's budget of the group sales is used up", tomorrow)
		}
	}
	for _, s := range last {
		s.told(t, "this month's budget is used up", month)
	}
	t.Logf("%d requests, %d calls of the model", c.sent.Load(), calls.Load())
}

// me tells who a visitor is.
func (c *crowd) me(t *testing.T, v *visitor) (m meAnswer) {
	t.Helper()
	if status, text, err := c.do(v, http.MethodGet, "/v1/me", ""); err != nil || status != http.StatusOK || json.Unmarshal([]byte(text), &m) != nil {
		t.Fatalf("%s asks who they are: %d %s, %v", v.name, status, text, err)
	}
	return m
}

// usage reads the bill in tokens, as soon as it has this many.
func (c *crowd) usage(t *testing.T, operator *visitor, tokens int64) map[string]map[string]int64 {
	t.Helper()
	read := func(by string) map[string]int64 {
		status, text, err := c.do(operator, http.MethodGet, "/v1/usage?by="+by, "")
		var list struct{ Data []schemas.UsageRow }
		if err != nil || status != http.StatusOK || json.Unmarshal([]byte(text), &list) != nil {
			t.Fatalf("the usage by %s: %d %s, %v", by, status, text, err)
		}
		sums := map[string]int64{}
		for _, row := range list.Data {
			sums[row.Name] = row.Prompt + row.Completion
		}
		return sums
	}
	eventually(t, "the usage is written", func() bool { return read("provider")["ollama"] == tokens })
	all := map[string]map[string]int64{}
	for _, by := range schemas.UsageBy() {
		all[by] = read(by)
	}
	return all
}

// told checks the refusal of a budget that begins anew at a time.
func (s *spender) told(t *testing.T, why string, anew time.Time) {
	t.Helper()
	want := why + "; it begins anew on " + anew.Format("2 January 15:04 UTC")
	if !strings.Contains(s.refused, want) || !strings.Contains(s.refused, `"budget_exceeded"`) {
		t.Errorf("%s was told %s, want %q", s.name, s.refused, want)
	}
	if off := s.wait - time.Until(anew); off < -time.Second || off > time.Minute {
		t.Errorf("%s is to wait %s, want until %s", s.name, s.wait, anew)
	}
}

// everywhere asks on every route after the budget is used up, and about an emergency.
func (s *spender) everywhere(t *testing.T, c *crowd, anew time.Time) {
	t.Helper()
	const messages = `"messages":[{"role":"user","content":"Count"}]}`
	for name, ask := range map[string][2]string{
		"chat":                {"/v1/chat/completions", `{"model":"plain",` + messages},
		"chat, streamed":      {"/v1/chat/completions", `{"model":"plain","stream":true,` + messages},
		"the page":            {"/v1/chat/completions", `{"model":"plain","stream":true,"molar":{"events":true,"html":true,"detach":true},` + messages},
		"responses":           {"/v1/responses", `{"model":"plain","input":"Count"}`},
		"responses, streamed": {"/v1/responses", `{"model":"plain","stream":true,"input":"Count"}`},
	} {
		res, text, err := c.send(&s.visitor, http.MethodPost, ask[0], ask[1])
		if err != nil || res.StatusCode != http.StatusTooManyRequests {
			t.Errorf("%s of %s: %v %s", name, s.name, err, text)
			continue
		}
		wait, _ := strconv.Atoi(res.Header.Get("Retry-After"))
		s.refused, s.wait = text, time.Duration(wait)*time.Second
		s.told(t, "today's budget of yours is used up", anew)
	}
	status, text, err := c.do(&s.visitor, http.MethodPost, "/v1/chat/completions", questionBody("plain", "", "Bạn đếm đến mười giúp mình được không?", false))
	vietnamese := "ngân sách hôm nay của bạn đã dùng hết; ngân sách mới bắt đầu lúc 00:00 ngày " + anew.Format("2 tháng 1") + " (giờ UTC)"
	if err != nil || status != http.StatusTooManyRequests || !strings.Contains(text, vietnamese) {
		t.Errorf("%s was told in Vietnamese: %d %s, %v", s.name, status, text, err)
	}
	status, text, err = c.do(&s.visitor, http.MethodPost, "/v1/chat/completions",
		questionBody("dental", "", "My tooth is infected and I have trouble breathing. Which dentist should I see?", false))
	if err != nil || status != http.StatusOK || !strings.Contains(text, "This may be an emergency") {
		t.Errorf("the emergency of %s: %d %s, %v", s.name, status, text, err)
	}
}

// The bill of people behind a proxy: each sees their own use, the operator everybody's, also as CSV and in the
// metrics. The title of a conversation, written in the background, is on the bill of its owner and their groups.
func TestServe_Usage(t *testing.T) {
	t.Parallel()
	main := newEndpoint(t, "Hello.", "")
	config := writeFile(t, "molar.yaml", fmt.Sprintf(`
default: plain
llm: {provider: main, providers: {main: {api: openai, base_url: "%s/v1", model: big, price: {input: 1, output: 10}}}}
assistants: {plain: {description: x, tools: []}}
memory: {store: ./molar.db}
identity: {header: X-Forwarded-User, groups_header: X-Groups}
trusted_proxies: [127.0.0.1]
groups:
  staff: {scopes: [chat]}
  sales: {scopes: [chat]}
  admins: {scopes: [admin, metrics]}
`, main.URL))
	s := serveHost(t, config, nil)
	as := func(name, groups, method, path, text string) string {
		t.Helper()
		res := s.send(t, method, path, text, "X-Forwarded-User", name, "X-Groups", groups)
		answer := body(t, res)
		if res.StatusCode != http.StatusOK {
			t.Fatalf("%s %s of %s: %d %s", method, path, name, res.StatusCode, answer)
		}
		return answer
	}
	for _, name := range []string{"ann", "bob"} {
		as(name, "staff,sales", http.MethodPost, "/v1/chat/completions", questionBody("plain", "chat_"+name, "Hello", false))
	}
	as("cat", "sales", http.MethodPost, "/v1/chat/completions", questionBody("plain", "chat_cat", "Hello", false))
	csv := func(name, groups, by string) string {
		return as(name, groups, http.MethodGet, "/v1/usage?format=csv&by="+by, "")
	}
	const head = ",calls,prompt_tokens,cached_tokens,completion_tokens,cost\n"
	eventually(t, "three answers and three titles are written down", func() bool {
		return csv("boss", "admins", "assistant") == "assistant"+head+"plain,6,6000,0,600,0.012\n"
	})
	for _, test := range []struct{ name, groups, by, want string }{
		{"boss", "admins", "person", "person:ann,2,2000,0,200,0.004\nperson:bob,2,2000,0,200,0.004\nperson:cat,2,2000,0,200,0.004\n"},
		{"boss", "admins", "group", "sales,6,6000,0,600,0.012\nstaff,4,4000,0,400,0.008\n"},
		{"boss", "admins", "model", "big,6,6000,0,600,0.012\n"},
		{"boss", "admins", "key", ""},
		{"ann", "staff", "person", "person:ann,2,2000,0,200,0.004\n"},
		{"ann", "staff", "provider", "main,2,2000,0,200,0.004\n"},
		{"dan", "staff", "model", ""},
	} {
		if got := csv(test.name, test.groups, test.by); got != test.by+head+test.want {
			t.Errorf("%s by %s: %s", test.name, test.by, got)
		}
	}
	if got, want := as("ann", "staff", http.MethodGet, "/v1/usage?by=assistant", ""), `{"name":"plain","calls":2,"prompt_tokens":2000,"cached_tokens":0,"completion_tokens":200,"cost":0.004}`; !strings.Contains(got, want) {
		t.Errorf("as JSON: %s", got)
	}
	for _, query := range []string{"by=colour", "since=yesterday", "format=xml"} {
		if res := s.send(t, http.MethodGet, "/v1/usage?"+query, "", "X-Forwarded-User", "ann", "X-Groups", "staff"); res.StatusCode != http.StatusBadRequest {
			t.Errorf("%s: %d", query, res.StatusCode)
		}
	}
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"--csv", "--by", "group"}, "group" + head + "sales,6,6000,0,600,0.012\nstaff,4,4000,0,400,0.008\n"},
		{[]string{"--json", "--by", "provider"}, `[
  {
    "name": "main",
    "calls": 6,
    "prompt_tokens": 6000,
    "cached_tokens": 0,
    "completion_tokens": 600,
    "cost": 0.012
  }
]
`},
		{nil, "person      calls  prompt  cached  answer  cost\nperson:ann  2      2000    0       200     0.004\n" +
			"person:bob  2      2000    0       200     0.004\nperson:cat  2      2000    0       200     0.004\n"},
		{[]string{"--since", time.Now().AddDate(0, 0, 2).Format(time.DateOnly), "--csv"}, "person" + head},
	} {
		if code, out, errs := molarCmd(t, append([]string{"usage", "--config", config}, test.args...)...); code != 0 || out != test.want {
			t.Errorf("molar usage %q: %d\n%s%s", test.args, code, out, errs)
		}
	}
	metrics := as("boss", "admins", http.MethodGet, "/metrics", "")
	for direction, tokens := range map[string]string{"input": "6000", "output": "600"} {
		if line := `molar_tokens_total{assistant="plain",direction="` + direction + `",model="big",provider="main"} ` + tokens; !strings.Contains(metrics, line+"\n") {
			t.Errorf("the metrics have no %s:\n%s", line, metrics)
		}
	}
}
