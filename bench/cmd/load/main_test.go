package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"testing"

	"molar/bench/loadgen"
)

// endpoint answers at once with one token that carries the tag of the question.
func endpoint(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		_, tag, _ := strings.Cut(string(body), "tag=")
		tag, _, _ = strings.Cut(tag, `"`)
		_, _ = io.WriteString(w, `data: {"choices":[{"delta":{"content":"tok1:`+tag+`"},"finish_reason":"stop"}]}`+"\n\ndata: [DONE]\n\n")
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func TestRun_ComparesTwoEndpoints(t *testing.T) {
	var stdout bytes.Buffer
	pid := strconv.Itoa(os.Getpid())
	args := []string{"-a", endpoint(t), "-apid", pid, "-b", endpoint(t), "-bpid", pid, "-tokens", "1", "-c", "2", "-n", "6", "-rounds", "2", "-warm", "3", "-json"}
	if got := run(t.Context(), args, &stdout, io.Discard); got != 0 {
		t.Fatalf("exit code %d: %s", got, stdout.String())
	}
	var report loadgen.Report
	if err := json.Unmarshal(stdout.Bytes(), &report); err != nil {
		t.Fatal(err)
	}
	if len(report.A) != 2 || len(report.B) != 2 || report.A[0].Turns != 6 || report.Ratios["turns/s"] <= 0 {
		t.Errorf("got %+v", report)
	}
}

func TestRun_PrintsATable(t *testing.T) {
	var stdout bytes.Buffer
	if got := run(t.Context(), []string{"-a", endpoint(t), "-tokens", "1", "-c", "1", "-n", "2", "-rounds", "1", "-warm", "0"}, &stdout, io.Discard); got != 0 {
		t.Fatalf("exit code %d: %s", got, stdout.String())
	}
	if !strings.Contains(stdout.String(), "first content p50 ms") {
		t.Errorf("got %s", stdout.String())
	}
}

func TestRun_HoldsStreams(t *testing.T) {
	var stdout bytes.Buffer
	args := []string{"-a", endpoint(t), "-apid", strconv.Itoa(os.Getpid()), "-tokens", "1", "-hold", "3", "-warm", "1"}
	if got := run(t.Context(), args, &stdout, io.Discard); got != 0 || !strings.Contains(stdout.String(), "3 streams, 0 failed") {
		t.Errorf("exit code %d: %s", got, stdout.String())
	}
}

func TestRun_ExitCodes(t *testing.T) {
	tests := map[string]struct {
		args []string
		want int
	}{
		"no endpoint":     {nil, 2},
		"unknown flag":    {[]string{"-x"}, 2},
		"help":            {[]string{"-h"}, 0},
		"turns that fail": {[]string{"-a", "http://127.0.0.1:1", "-n", "1", "-c", "1", "-rounds", "1", "-warm", "0"}, 1},
		"no such process": {[]string{"-a", "http://127.0.0.1:1", "-apid", "999999999", "-warm", "0"}, 1},
	}
	for name, test := range tests {
		if got := run(t.Context(), test.args, io.Discard, io.Discard); got != test.want {
			t.Errorf("%s: exit code %d, want %d", name, got, test.want)
		}
	}
}
