//go:build long

package _test

// strangersEvery is of how many attacks of strangers one is played.
const strangersEvery = 1
