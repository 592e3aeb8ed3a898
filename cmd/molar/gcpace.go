package main

import "runtime/debug"

const (
	// manyTurns is from how many open turns on the heap is collected sooner, fewTurns
	// from how many on, downwards, as usual again.
	manyTurns, fewTurns = 256, 128
	// usualGCPercent is Go's own. manyGCPercent lets the heap grow by half of what is in
	// use: what open streams hold is most of it then, and they make little garbage, so
	// that memory is worth more than the time. With few turns it would be the reverse.
	usualGCPercent, manyGCPercent = 100, 50
)

// paceGC returns what a gate tells when there are many turns, and when there are few
// again. An operator who set GOGC has decided, which gives nil.
func paceGC(env func(string) (string, bool), set func(percent int) int) func(many bool) {
	if _, decided := env("GOGC"); decided {
		return nil
	}
	return func(many bool) {
		percent := usualGCPercent
		if many {
			percent = manyGCPercent
		}
		set(percent)
	}
}

// collectSooner paces the collector of this process.
func collectSooner(env func(string) (string, bool)) func(many bool) {
	return paceGC(env, debug.SetGCPercent)
}
