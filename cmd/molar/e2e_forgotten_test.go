package main

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"molar/internal/store/storetest"
	"molar/internal/testkit/models"
)

// Who has themselves forgotten at one replica while another one answers them is forgotten: nothing of the
// question is stored afterwards, and the model stops: nobody reads what it would write.
func TestVisitors_ForgottenElsewhere(t *testing.T) {
	t.Parallel()
	model := startModel(t, models.Config{Tool: "none", Tokens: 30, Interval: 100 * time.Millisecond})
	file := publicConfig(t, storetest.StartPostgres(t).Database(t), "{}")
	hosts := []*served{serveHost(t, file, model), serveHost(t, file, model)}
	p := pass(t, hosts[0], "192.0.2.1")
	ended := make(chan string)
	go func() {
		_, text := p.send(hosts[0], http.MethodPost, "/embed/chat", `{"text":"Is penicillin safe for my gums?","lang":"en"}`)
		ended <- text
	}()
	eventually(t, "the answer runs", func() bool {
		_, text := p.send(hosts[1], http.MethodGet, "/embed/conversation", "")
		return strings.Contains(text, `"running"`)
	})
	if status, text := p.send(hosts[1], http.MethodDelete, "/embed/conversation", ""); status != http.StatusNoContent {
		t.Fatalf("forget: %d %s", status, text)
	}
	text := <-ended
	_, rest, _ := strings.Cut(text, `{"turn":"`)
	turn, _, _ := strings.Cut(rest, `"`)
	if !strings.Contains(text, `"code":"stopped"`) {
		t.Errorf("the answer goes on: %s", text)
	}
	for i, h := range hosts {
		if status, text := p.send(h, http.MethodGet, "/embed/conversation", ""); status != http.StatusOK || strings.Contains(text, "penicillin") {
			t.Errorf("replica %d has the conversation: %d %s", i, status, text)
		}
	}
	if status, text := p.send(hosts[1], http.MethodGet, "/embed/turns/"+turn+"/events", ""); status != http.StatusNotFound {
		t.Errorf("the replica that forgot shows the answer: %d %s", status, text)
	}
	base := openBase(t, storeOf(t, file))
	for _, h := range hosts {
		h.stop()
	}
	for _, text := range []string{"penicillin", strings.TrimPrefix(p.owner(), "visitor:")} {
		for _, found := range storetest.Holding(t, base.Read, text) {
			if !strings.Contains(found, "visit_counts") {
				t.Errorf("%q is still in %v", text, found)
			}
		}
	}
}
