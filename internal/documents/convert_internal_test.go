//go:build unix

package documents

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// A document that waits for others has its whole time afterwards; one that waits for too long is read another time.
func TestReader_waits(t *testing.T) {
	for name, tt := range map[string]struct {
		others time.Duration
		busy   bool
	}{
		"for longer than a document may take": {others: timeLimit + time.Second},
		"for too long":                        {others: longestWait + time.Second, busy: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, err := New(Config{Convert: map[string][]string{"odt": {"cat", place}}})
				if err != nil {
					t.Fatal(err)
				}
				for range atOnce {
					r.slots <- struct{}{}
				}
				var others sync.WaitGroup
				defer others.Wait()
				others.Go(func() {
					time.Sleep(tt.others)
					<-r.slots
				})
				d, err := r.Read(t.Context(), "a.odt", []byte("text"))
				if busy := errors.Is(err, ErrBusy); busy != tt.busy || !busy && (err != nil || len(d.Parts) != 1) {
					t.Errorf("%d parts, error %v", len(d.Parts), err)
				}
			})
		})
	}
}

// A call that ends while it waits is no fault of the document.
func TestReader_waitsNot(t *testing.T) {
	r, err := New(Config{Convert: map[string][]string{"odt": {"cat", place}}})
	if err != nil {
		t.Fatal(err)
	}
	for range atOnce {
		r.slots <- struct{}{}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.Read(ctx, "a.odt", []byte("text")); !errors.Is(err, ErrBusy) {
		t.Errorf("error %v", err)
	}
}
