//go:build !unix

package terminal

import "os"

// Resizes sends nothing on this system: the next key finds the new size.
func Resizes() (changed <-chan os.Signal, stop func()) { return nil, func() {} }
