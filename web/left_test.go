package web_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"molar/agent"
	"molar/agent/answer"
)

// A client that leaves before its answer begins is no fault of the server, in its numbers either.
func TestClientLeft_NotAFault(t *testing.T) {
	for _, stream := range []bool{false, true} {
		t.Run(fmt.Sprintf("stream %t", stream), func(t *testing.T) {
			ctx, leave := context.WithCancel(t.Context())
			h := build(t, operated(t, script(func(ctx context.Context, _ agent.Turn, _ func(answer.Event) bool) error {
				leave()
				<-ctx.Done()
				return ctx.Err()
			})))
			body := fmt.Sprintf(`{"model":"dental","stream":%t,"messages":[{"role":"user","content":"hi"}]}`, stream)
			serve(h, request(http.MethodPost, "/v1/chat/completions", body).WithContext(ctx))
			counted := serve(h, request(http.MethodGet, "/metrics", "")).Body.String()
			if want := `molar_http_requests_total{method="POST",route="/v1/chat/completions",status="499"} 1`; !strings.Contains(counted, want) {
				t.Errorf("no %s among\n%s", want, grep(counted, "requests_total"))
			}
		})
	}
}

// grep returns the lines that contain a text.
func grep(lines, what string) (found string) {
	for line := range strings.Lines(lines) {
		if strings.Contains(line, what) {
			found += line
		}
	}
	return found
}
