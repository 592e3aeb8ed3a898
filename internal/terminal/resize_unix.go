//go:build unix

package terminal

import (
	"os"
	"os/signal"
	"syscall"
)

// Resizes returns a channel that is sent on when the terminal's window is resized, until stop
// is called.
func Resizes() (changed <-chan os.Signal, stop func()) {
	ch := make(chan os.Signal, 1)
	signal.Notify(ch, syscall.SIGWINCH)
	return ch, func() { signal.Stop(ch) }
}
