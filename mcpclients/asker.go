package mcpclients

import (
	"sync"

	"molar/schemas"
)

// askers knows for whom the calls under way are.
type askers struct {
	mu    sync.Mutex
	calls map[*schemas.Person]int // how many calls are for each; nil stands for nobody in particular
}

func (a *askers) begin(who *schemas.Person) (end func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.calls == nil {
		a.calls = map[*schemas.Person]int{}
	}
	a.calls[who]++
	return func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		if a.calls[who]--; a.calls[who] == 0 {
			delete(a.calls, who)
		}
	}
}

// only returns the person for whom all calls under way are, or nil when they are for nobody
// in particular. ok is false when they are for several: a question does not say to which
// call it belongs, and must not reach another person.
func (a *askers) only() (who *schemas.Person, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.calls) > 1 {
		return nil, false
	}
	for one := range a.calls {
		who = one
	}
	return who, true
}
