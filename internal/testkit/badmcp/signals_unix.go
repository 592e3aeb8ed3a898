//go:build unix

package main

import (
	"os/signal"
	"syscall"
)

func ignoreSignals() { signal.Ignore(syscall.SIGTERM) }
