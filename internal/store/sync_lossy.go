//go:build crashlossy

package store

// durableSync makes commits return before they are on the disk. The crash test builds
// with it, to see that it would find what a loss of power takes.
const durableSync = "synchronous(OFF)"
