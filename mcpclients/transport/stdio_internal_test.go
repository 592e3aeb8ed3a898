package transport

import (
	"errors"
	"testing"
	"testing/synctest"
)

// When a request is refused, its caller sees the connection as ended, and therefore dials a new
// one.
func TestStdio_RefusedOnlyAfterTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &stdio{done: make(chan struct{})}
		c.calls.fail(ErrLost)
		refused := make(chan error, 1)
		go func() {
			_, err := c.Request(t.Context(), MethodPing, nil)
			refused <- err
		}()
		synctest.Wait()
		select {
		case err := <-refused:
			t.Fatalf("refused before the end: %v", err)
		default:
		}
		close(c.done)
		if err := <-refused; !errors.Is(err, ErrUnavailable) {
			t.Errorf("got %v", err)
		}
	})
}
