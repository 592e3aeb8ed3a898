package turns

import (
	"context"
	"testing"
	"testing/synctest"
)

// A queue waits for its reader, holds no more than its room, and gives every entry once, in order.
func TestQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const all = 50
		q := newQueue[int](4)
		added := 0
		go func() {
			for i := range all {
				q.Add(i)
				added++
			}
			q.End()
		}()
		n := 0
		for {
			synctest.Wait()
			if n < all && added > n+4 {
				t.Fatalf("%d were added when %d were read, with room for 4", added, n)
			}
			got, err := q.After(context.Background(), n)
			if err != nil {
				t.Fatal(err)
			}
			if len(got) == 0 {
				break
			}
			for _, it := range got {
				if it != n {
					t.Fatalf("entry %d is %d", n, it)
				}
				n++
			}
		}
		if n != all {
			t.Errorf("%d of %d were read", n, all)
		}
	})
}

// A turn that was stopped does not wait for a client that does not read.
func TestQueue_Hurried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue[int](1)
		done := make(chan struct{})
		go func() {
			for i := range 10 {
				q.Add(i)
			}
			q.End()
			close(done)
		}()
		synctest.Wait()
		if !q.mustWait() {
			t.Error("a full queue takes more")
		}
		q.hurry()
		<-done
		got, _ := q.After(t.Context(), 0)
		if len(got) != 10 {
			t.Errorf("%d entries are left", len(got))
		}
	})
}

// A reader that waits returns when its context ends.
func TestLog_AfterEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewLog(func(int) int { return 1 })
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			got, err := l.After(ctx, 0)
			if len(got) > 0 || err != nil {
				t.Errorf("%v %v", got, err)
			}
			close(done)
		}()
		synctest.Wait()
		cancel()
		<-done
	})
}
