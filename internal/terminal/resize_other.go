//go:build !unix

package terminal

import "os"

// Resizes tells nothing here: the next key finds the new size.
func Resizes() (changed <-chan os.Signal, stop func()) { return nil, func() {} }
