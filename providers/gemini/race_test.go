//go:build race

package gemini_test

// largeAnswer is smaller here: the race detector makes reading ten times slower.
const largeAnswer = 16 << 20
