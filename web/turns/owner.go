package turns

// Forget stops the turns of an owner that run in this process, and lets nobody follow one of theirs from then
// on: their texts are about to be erased, and an ended turn keeps them for a while.
func (ts *Set) Forget(owner string) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	for _, t := range ts.live {
		if t.owner != owner {
			continue
		}
		t.forgotten = true
		ts.dropKey(t)
		if t.cancel != nil && !t.IsOver() {
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
