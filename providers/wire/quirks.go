package wire

import (
	"strings"
	"sync"
)

// Quirks remembers which parameters a model rejects. The zero value is ready; it is safe for
// concurrent use.
type Quirks struct {
	mu     sync.Mutex
	models map[string]map[string]int
}

// Refused returns how often the model has refused a parameter, each time in another form.
func (q *Quirks) Refused(model, parameter string) int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.models[model][parameter]
}

// Learn records that the model rejected a parameter, and reports whether other forms are left;
// forms is their number.
func (q *Quirks) Learn(model, parameter string, forms int) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.models[model][parameter] >= forms {
		return false
	}
	if q.models == nil || len(q.models) >= maxModels {
		q.models = map[string]map[string]int{}
	}
	if q.models[model] == nil {
		q.models[model] = map[string]int{}
	}
	q.models[model][parameter]++
	return true
}

// RefusesParameter reports whether a message rejects a parameter.
func RefusesParameter(message string) bool {
	message = strings.ToLower(message)
	for _, sign := range []string{
		"unsupported", "not support", "unrecognized", "unknown", "unavailable", "extra inputs", "not permitted",
		"not allowed", "not enabled", "cannot be disabled", "only works in thinking mode",
	} {
		if strings.Contains(message, sign) {
			return true
		}
	}
	return false
}
