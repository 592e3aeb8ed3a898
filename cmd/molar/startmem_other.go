//go:build !linux

package main

import "runtime/debug"

// releaseStart gives back the garbage that the start left on the heap.
func releaseStart() { debug.FreeOSMemory() }
