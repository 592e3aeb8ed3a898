package httpguard_test

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"molar/internal/httpguard"
)

// A body with files may be larger than others, announced or not, as long as the large
// ones in flight leave room for it.
func TestGuard_LargeBodies(t *testing.T) {
	t.Parallel()
	const most = 1 << 10
	wrap, err := httpguard.New(httpguard.Config{Hosts: []string{"localhost"}, MaxBody: most, Files: []string{"/files"}})
	if err != nil {
		t.Fatal(err)
	}
	reading, leave := make(chan error), make(chan struct{})
	handler := wrap(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, err := io.Copy(io.Discard, r.Body)
		reading <- err
		<-leave
	}))
	errRefused := errors.New("refused")
	var open sync.WaitGroup
	send := func(path string, size int, announced bool) {
		var body io.Reader = bytes.NewReader(make([]byte, size))
		if !announced {
			body = io.MultiReader(body)
		}
		r := httptest.NewRequest(http.MethodPost, "http://localhost"+path, body)
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		if handler.ServeHTTP(w, r); w.Code != http.StatusOK {
			reading <- errRefused
		}
	}
	tooLarge := func(err error) bool { _, ok := errors.AsType[*http.MaxBytesError](err); return ok }
	for _, c := range []struct {
		path      string
		size      int
		announced bool
		fits      func(error) bool
	}{
		{"/else", most, true, func(err error) bool { return err == nil }},
		{"/else", most + 1, true, func(err error) bool { return err != nil }},
		{"/else", most + 1, false, tooLarge},
		{"/files", 8 * most, true, func(err error) bool { return err == nil }},
		{"/files", 8 * most, false, func(err error) bool { return err == nil }},
		{"/files", 8*most + 1, true, func(err error) bool { return err != nil }},
		{"/files", 8*most + 1, false, tooLarge},
	} {
		open.Go(func() { send(c.path, c.size, c.announced) })
		err := <-reading
		if !c.fits(err) {
			t.Errorf("%s with %d bytes, announced %v: %v", c.path, c.size, c.announced, err)
		}
		if !errors.Is(err, errRefused) {
			leave <- struct{}{}
		}
		open.Wait()
	}
	for range 8 {
		open.Go(func() { send("/files", 8*most, true) })
		if err := <-reading; err != nil {
			t.Fatal(err)
		}
	}
	open.Go(func() { send("/files", most+1, true) })
	if err := <-reading; !errors.Is(err, httpguard.ErrBusy) {
		t.Errorf("beside eight large bodies: %v, want %v", err, httpguard.ErrBusy)
	}
	open.Go(func() { send("/files", most, true) })
	if err := <-reading; err != nil {
		t.Errorf("a small body beside large ones: %v", err)
	}
	for range 10 {
		leave <- struct{}{}
	}
	open.Wait()
}
