//go:build unix

package terminal

import (
	"os"
	"os/signal"
	"syscall"
)

// Resizes tells when the window of the terminal changed its size, until stop is called.
func Resizes() (changed <-chan os.Signal, stop func()) {
	ch := make(chan os.Signal, 1)
	signal.Notify(ch, syscall.SIGWINCH)
	return ch, func() { signal.Stop(ch) }
}
