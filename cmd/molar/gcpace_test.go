package main

import (
	"slices"
	"testing"
)

func TestGate_pacesTheCollector(t *testing.T) {
	var set []int
	g := newGate()
	g.crowded = paceGC(func(string) (string, bool) { return "", false }, func(percent int) int {
		set = append(set, percent)
		return 0
	})
	move := func(n int, step func()) {
		for range n {
			step()
		}
	}
	enter := func() { g.enter() }
	move(manyTurns-1, enter)
	if len(set) != 0 {
		t.Fatalf("set %v below %d turns", set, manyTurns)
	}
	enter()
	move(10, g.leave) // a number that goes up and down sets nothing again and again
	move(20, enter)
	move(manyTurns+10-fewTurns, g.leave)
	if want := []int{manyGCPercent, usualGCPercent}; !slices.Equal(set, want) {
		t.Errorf("set %v, want %v", set, want)
	}
	move(manyTurns, enter)
	if want := []int{manyGCPercent, usualGCPercent, manyGCPercent}; !slices.Equal(set, want) {
		t.Errorf("set %v, want %v", set, want)
	}
}

func TestPaceGC_leavesGOGCAlone(t *testing.T) {
	env := func(name string) (string, bool) { return "200", name == "GOGC" }
	if paceGC(env, nil) != nil {
		t.Error("GOGC of the operator would be overruled")
	}
}
