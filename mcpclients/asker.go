package mcpclients

import (
	"sync"

	"molar/schemas"
)

// askers counts the calls under way by person.
type askers struct {
	mu    sync.Mutex
	calls map[*schemas.Person]int // the nil key counts calls without a person
}

func (a *askers) begin(person *schemas.Person) (end func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.calls == nil {
		a.calls = map[*schemas.Person]int{}
	}
	a.calls[person]++
	return func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		if a.calls[person]--; a.calls[person] == 0 {
			delete(a.calls, person)
		}
	}
}

// only returns the person of all calls under way, nil if they have none. ok is false if they are
// for several people: a question does not name its call and must not reach another person.
func (a *askers) only() (person *schemas.Person, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.calls) > 1 {
		return nil, false
	}
	for one := range a.calls {
		person = one
	}
	return person, true
}
