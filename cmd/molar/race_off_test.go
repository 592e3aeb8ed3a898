//go:build !race

package main

// raced reports that these tests run with the race detector, which slows a start.
const raced = false
