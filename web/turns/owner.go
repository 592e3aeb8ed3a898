package turns

// StopOf stops the turns of an owner that run in this process.
func (ts *Set) StopOf(owner string) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	for _, t := range ts.live {
		if t.owner == owner && t.cancel != nil && !t.IsOver() {
			t.Stop()
		}
	}
}

// Runs reports whether a turn of an owner runs in this process.
func (ts *Set) Runs(owner string) bool {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	for _, t := range ts.live {
		if t.owner == owner && t.cancel != nil && !t.IsOver() {
			return true
		}
	}
	return false
}
