//go:build !race

package gemini_test

// largeAnswer is the length of a very long answer, in bytes.
const largeAnswer = 100 << 20
