package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
)

func TestRun_ServesUntilItsContextEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	read, write := io.Pipe()
	code := make(chan int, 1)
	go func() {
		code <- run(ctx, []string{"-listen", "127.0.0.1:0", "-models", "a:1b,b:1b"}, write, io.Discard)
	}()
	line, err := bufio.NewReader(read).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	url := strings.TrimSpace(strings.TrimPrefix(line, "listening on "))
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+"/api/tags", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || !bytes.Contains(body, []byte(`"b:1b"`)) {
		t.Errorf("got %s, %v", body, err)
	}
	cancel()
	if got := <-code; got != 0 {
		t.Errorf("exit code %d", got)
	}
}

func TestRun_WrongFlags(t *testing.T) {
	for _, args := range [][]string{{"-args", "nope"}, {"-bogus"}} {
		var stderr bytes.Buffer
		if got := run(t.Context(), args, io.Discard, &stderr); got != 2 || stderr.Len() == 0 {
			t.Errorf("%v: exit code %d, %q", args, got, stderr.String())
		}
	}
	if got := run(t.Context(), []string{"-listen", "256.0.0.1:1"}, io.Discard, io.Discard); got != 1 {
		t.Errorf("bad address: exit code %d", got)
	}
}
