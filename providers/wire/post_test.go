package wire_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"testing"
	"weak"

	"molar/providers/wire"
)

// The bytes of a request are gone while its answer is still read.
func TestNewPost_Forgets(t *testing.T) {
	release := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got, _ := io.ReadAll(r.Body)
		w.Header().Set("X-Got", string(got[:4]))
		_ = http.NewResponseController(w).Flush()
		<-release
	}))
	defer s.Close()
	defer close(release)
	data := bytes.Repeat([]byte("abcd"), 1<<18)
	held := weak.Make(&data[0])
	req, forget, err := wire.NewPost(t.Context(), s.URL, data)
	if err != nil {
		t.Fatal(err)
	}
	data = nil
	resp, err := s.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if got := resp.Header.Get("X-Got"); got != "abcd" {
		t.Errorf("the server got %q", got)
	}
	runtime.GC()
	if held.Value() == nil {
		t.Fatal("nothing held the body before it was forgotten, so this test shows nothing")
	}
	forget()
	runtime.GC()
	if held.Value() != nil {
		t.Error("the body is still held")
	}
	runtime.KeepAlive(resp)
}

// A request that the server sends elsewhere carries its body there.
func TestNewPost_SentAgain(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got, _ := io.ReadAll(r.Body)
		if r.URL.Path != "/there" {
			http.Redirect(w, r, "/there", http.StatusTemporaryRedirect)
			return
		}
		_, _ = w.Write(got)
	}))
	defer s.Close()
	req, forget, err := wire.NewPost(t.Context(), s.URL, []byte("whole"))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := s.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	forget()
	if got, err := io.ReadAll(resp.Body); err != nil || string(got) != "whole" {
		t.Errorf("answered %q, %v", got, err)
	}
}
