//go:build !crashlossy

package store

// durableSync makes a commit wait until it is on the disk.
const durableSync = "synchronous(FULL)"
