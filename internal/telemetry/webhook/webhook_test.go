package webhook_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"molar/internal/telemetry/webhook"
)

// receiver answers requests with a status, and remembers them.
type receiver struct {
	mu     sync.Mutex
	status func(n int) int
	ids    []string
	signed int
	body   string
	key    string
}

func (r *receiver) RoundTrip(q *http.Request) (*http.Response, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	body, _ := io.ReadAll(q.Body)
	id, at := q.Header.Get("webhook-id"), q.Header.Get("webhook-timestamp")
	mac := hmac.New(sha256.New, []byte(r.key))
	mac.Write([]byte(id + "." + at + "." + string(body)))
	if q.Header.Get("webhook-signature") == "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)) {
		r.signed++
	}
	r.ids, r.body = append(r.ids, id), string(body)
	status := r.status(len(r.ids))
	if status == 0 {
		return nil, errors.New("nobody answers")
	}
	return &http.Response{StatusCode: status, Status: http.StatusText(status), Body: io.NopCloser(strings.NewReader("")), Request: q}, nil
}

// An event is signed, keeps its id while it is tried again, and is given up after an hour.
func TestSender(t *testing.T) {
	for _, tt := range []struct {
		name    string
		status  func(n int) int
		least   int
		outcome string
		within  time.Duration
	}{
		{"taken at once", func(int) int { return 204 }, 1, "delivered", 0},
		{"taken at the fourth try", func(n int) int { return map[bool]int{true: 200, false: 503}[n == 4] }, 4, "delivered", 7 * time.Second},
		{"nobody answers", func(int) int { return 0 }, 12, "failed", time.Hour},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				to := &receiver{status: tt.status, key: "a key of twenty-four bytes"}
				outcomes := make(chan string, 1)
				s, err := webhook.New(webhook.Config{
					URL: "https://chat.example/hook", Key: []byte(to.key), Client: &http.Client{Transport: to}, Count: func(o string) { outcomes <- o },
				})
				if err != nil {
					t.Fatal(err)
				}
				began := time.Now()
				s.Send("approval.requested", map[string]string{"tool": "reset"})
				if got := <-outcomes; got != tt.outcome || time.Since(began) > tt.within {
					t.Errorf("%s after %v", got, time.Since(began))
				}
				s.Close()
				if len(to.ids) < tt.least || to.signed != len(to.ids) {
					t.Errorf("%d requests, %d signed", len(to.ids), to.signed)
				}
				for _, id := range to.ids {
					if id != to.ids[0] || id == "" {
						t.Errorf("ids %q", to.ids)
					}
				}
				var e struct {
					Type string
					Data struct{ Tool string }
				}
				if err := json.Unmarshal([]byte(to.body), &e); err != nil || e.Type != "approval.requested" || e.Data.Tool != "reset" {
					t.Errorf("%s: %v", to.body, err)
				}
			})
		})
	}
}

// Close gives up what still waits, soon, and nothing is sent after it.
func TestSender_Close(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		to := &receiver{status: func(int) int { return 500 }}
		failed := 0
		s, err := webhook.New(webhook.Config{URL: "https://chat.example", Key: []byte("k"), Client: &http.Client{Transport: to}, Count: func(string) { failed++ }})
		if err != nil {
			t.Fatal(err)
		}
		s.Send("approval.requested", nil)
		began := time.Now()
		s.Close()
		if time.Since(began) > 6*time.Second || failed != 1 {
			t.Errorf("%v, %d failed", time.Since(began), failed)
		}
		tries := len(to.ids)
		s.Send("approval.decided", nil)
		if len(to.ids) != tries || failed != 2 {
			t.Errorf("%d more requests", len(to.ids)-tries)
		}
	})
}
