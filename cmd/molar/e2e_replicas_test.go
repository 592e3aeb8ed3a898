package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"molar/internal/store/storetest"
	"molar/internal/testkit"
	"molar/internal/testkit/models"
)

// replicas starts hosts on one PostgreSQL.
func replicas(t *testing.T, model *models.Server, n int, config string) []*served {
	t.Helper()
	file := writeFile(t, "molar.yaml", "default: plain\nllm: {provider: ollama}\nmemory: {store: '"+storetest.StartPostgres(t).Database(t)+"'}\n"+config)
	all := make([]*served, n)
	for i := range all {
		all[i] = serveHost(t, file, model)
	}
	return all
}

const plainAssistant = "assistants: {plain: {description: x, tools: ['family__*']}}\n"

// send is do with headers, which come in pairs.
func (s *served) send(t *testing.T, method, path, body string, headers ...string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, s.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := s.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = res.Body.Close() })
	return res
}

// body reads an answer to its end.
func body(t *testing.T, res *http.Response) string {
	t.Helper()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// begun starts a detached turn and leaves it.
func (s *served) begun(t *testing.T, chat string) (id string) {
	t.Helper()
	ask := strings.Replace(questionBody("plain", chat, "Count", true), `"events":true`, `"events":true,"detach":true`, 1)
	res := s.send(t, http.MethodPost, "/v1/chat/completions", ask)
	res.Body.Close()
	return res.Header.Get("X-Turn-Id")
}

// A detached turn is followed, resumed and stopped at a replica that does not run it.
func TestReplicas_Follow(t *testing.T) {
	t.Parallel()
	model := startModel(t, models.Config{Tool: "none", Tokens: 60, LineEvery: 1, Interval: 20 * time.Millisecond})
	hosts := replicas(t, model, 2, plainAssistant)
	id := hosts[0].begun(t, "chat_followed")
	events := "/v1/turns/" + id + "/events"
	elsewhere := body(t, hosts[1].send(t, http.MethodGet, events, ""))
	if here := body(t, hosts[0].send(t, http.MethodGet, events, "")); spoken(here) != spoken(elsewhere) || !strings.Contains(elsewhere, "tok60") {
		t.Errorf("the replica that runs the turn tells\n%s\nthe other\n%s", here, elsewhere)
	}
	numbers := regexp.MustCompile(`(?m)^id: (\d+)$`).FindAllStringSubmatch(elsewhere, -1)
	middle := numbers[len(numbers)/2][1]
	rest := body(t, hosts[1].send(t, http.MethodGet, events, "", "Last-Event-ID", middle))
	_, want, _ := strings.Cut(elsewhere, "id: "+middle+"\n")
	if _, want, _ = strings.Cut(want, "\n\n"); spoken(rest) != spoken(want) {
		t.Errorf("after event %s came\n%s\nwant\n%s", middle, rest, want)
	}

	long := hosts[0].begun(t, "chat_stopped")
	res := hosts[1].send(t, http.MethodDelete, "/v1/turns/"+long, "")
	if text := body(t, res); res.StatusCode != http.StatusOK || !strings.Contains(text, `"stopped"`) {
		t.Errorf("stopped elsewhere: %d %s", res.StatusCode, text)
	}
	if text := body(t, hosts[0].send(t, http.MethodGet, "/v1/turns/"+long+"/events", "")); !strings.Contains(text, `"code":"stopped"`) {
		t.Errorf("the turn that was stopped elsewhere tells %s", text)
	}
}

// spoken is the text of a stream.
func spoken(stream string) string {
	var text strings.Builder
	for _, m := range regexp.MustCompile(`"content":("(?:[^"\\]|\\.)*")`).FindAllStringSubmatch(stream, -1) {
		var piece string
		_ = json.Unmarshal([]byte(m[1]), &piece)
		text.WriteString(piece)
	}
	return text.String()
}

// One Idempotency-Key is one turn on all replicas, with the same answer for all.
func TestReplicas_Key(t *testing.T) {
	t.Parallel()
	model := startModel(t, models.Config{Tool: "none", Tokens: 30, LineEvery: 1, Interval: 20 * time.Millisecond})
	hosts := replicas(t, model, 3, plainAssistant)
	answers := make([]string, len(hosts))
	var all sync.WaitGroup
	for i, h := range hosts {
		all.Go(func() {
			res := h.send(t, http.MethodPost, "/v1/chat/completions", questionBody("plain", "chat_key", "Count", false), "Idempotency-Key", "one")
			answers[i] = fmt.Sprint(res.StatusCode, " ", spoken(body(t, res)))
		})
	}
	all.Wait()
	if answers[0] != answers[1] || answers[1] != answers[2] || !strings.HasPrefix(answers[0], "200 tok1") {
		t.Errorf("the replicas answered %q", answers)
	}
	if n := len(asked(model)); n != 1 {
		t.Errorf("the model was asked %d times", n)
	}
}

// A response in the background is followed, read and cancelled at any replica.
func TestReplicas_Background(t *testing.T) {
	t.Parallel()
	model := startModel(t, models.Config{Tool: "none", Tokens: 60, LineEvery: 1, Interval: 20 * time.Millisecond})
	hosts := replicas(t, model, 2, plainAssistant)
	create := func() string {
		var r struct{ ID string }
		text := body(t, hosts[0].send(t, http.MethodPost, "/v1/responses", `{"model":"plain","input":"Count","background":true}`))
		if err := json.Unmarshal([]byte(text), &r); err != nil || r.ID == "" {
			t.Fatalf("%v: %s", err, text)
		}
		return r.ID
	}
	id := create()
	path := "/v1/responses/" + id + "?stream=true&starting_after=1"
	elsewhere := body(t, hosts[1].send(t, http.MethodGet, path, ""))
	if here := body(t, hosts[0].send(t, http.MethodGet, path, "")); kinds(here) != kinds(elsewhere) || !strings.Contains(elsewhere, "response.completed") {
		t.Errorf("the replica that runs the turn tells\n%s\nthe other\n%s", here, elsewhere)
	}
	id = create()
	if text := body(t, hosts[1].send(t, http.MethodPost, "/v1/responses/"+id+"/cancel", "{}")); !strings.Contains(text, `"cancelled"`) {
		t.Errorf("cancelled elsewhere: %s", text)
	}
	eventually(t, "the response is cancelled where it runs", func() bool {
		return strings.Contains(body(t, hosts[0].send(t, http.MethodGet, "/v1/responses/"+id, "")), `"status":"cancelled"`)
	})
}

// kinds are the numbers and types of a stream's events.
func kinds(stream string) string {
	return fmt.Sprint(regexp.MustCompile(`"sequence_number":\d+|(?m)^event: .*$`).FindAllString(stream, -1))
}

// A call that waits is listed, and decided about, at any replica.
func TestReplicas_Approve(t *testing.T) {
	t.Parallel()
	model := startModel(t, models.Config{Tool: "family__get_family_details", Args: json.RawMessage(`{"familyId":"1a955fff-ce01-422f-8bb3-02ab14e8ec47"}`)})
	hosts := replicas(t, model, 2, plainAssistant+"mcpServers: {family: {command: "+buildFamily(t)+", tools: {'*': {policy: confirm}}}}\n")
	id := hosts[0].begun(t, "chat_asks")
	var list struct {
		Data []struct{ ID, Token string } `json:"data"`
	}
	eventually(t, "the other replica lists the call", func() bool {
		hosts[1].get(t, "/v1/approvals", &list)
		return len(list.Data) == 1
	})
	wrong := hosts[1].send(t, http.MethodPost, "/v1/approvals/"+list.Data[0].ID, `{"decision":"approve","token":"x"}`)
	if wrong.StatusCode != http.StatusForbidden {
		t.Errorf("another token: %d %s", wrong.StatusCode, body(t, wrong))
	}
	decide := fmt.Sprintf(`{"decision":"approve","token":%q}`, list.Data[0].Token)
	res := hosts[1].send(t, http.MethodPost, "/v1/approvals/"+list.Data[0].ID, decide)
	if res.StatusCode != http.StatusOK {
		t.Errorf("approved elsewhere: %d %s", res.StatusCode, body(t, res))
	}
	if text := body(t, hosts[1].send(t, http.MethodGet, "/v1/turns/"+id+"/events", "")); !strings.Contains(text, "Nguyen") {
		t.Errorf("the turn went on with %s", text)
	}
	if again := hosts[1].send(t, http.MethodPost, "/v1/approvals/"+list.Data[0].ID, decide); again.StatusCode == http.StatusOK {
		t.Error("a second decision counted")
	}
}

// A question of a server is listed, and answered, at any replica.
func TestReplicas_Answer(t *testing.T) {
	t.Parallel()
	model := startModel(t, models.Config{Tool: "bad__wonder", Args: json.RawMessage(`{}`)})
	hosts := replicas(t, model, 2, "assistants: {plain: {description: x, tools: ['bad__*']}}\n"+
		"mcpServers: {bad: {command: "+testkit.Build(t, "molar/internal/testkit/badmcp")+", tools: {'*': {policy: allow}}}}\n")
	id := hosts[0].begun(t, "chat_wonders")
	var list struct {
		Data []struct{ ID string } `json:"data"`
	}
	eventually(t, "the other replica lists the question", func() bool {
		hosts[1].get(t, "/v1/questions", &list)
		return len(list.Data) == 1
	})
	path := "/v1/questions/" + list.Data[0].ID
	if wrong := hosts[1].send(t, http.MethodPost, path, `{"action":"accept","content":{"day":"Sunday"}}`); wrong.StatusCode != http.StatusBadRequest {
		t.Errorf("a day that is not in the form: %d %s", wrong.StatusCode, body(t, wrong))
	}
	answer := `{"action":"accept","content":{"day":"Friday"}}`
	if res := hosts[1].send(t, http.MethodPost, path, answer); res.StatusCode != http.StatusOK {
		t.Errorf("answered elsewhere: %d %s", res.StatusCode, body(t, res))
	}
	if text := body(t, hosts[1].send(t, http.MethodGet, "/v1/turns/"+id+"/events", "")); !strings.Contains(text, "Friday") {
		t.Errorf("the turn went on with %s", text)
	}
	if again := hosts[1].send(t, http.MethodPost, path, answer); again.StatusCode == http.StatusOK {
		t.Error("a second answer counted")
	}
}
