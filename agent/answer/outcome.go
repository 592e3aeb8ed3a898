package answer

import (
	"molar/schemas"
	"molar/toolhandler"
)

// OutcomeOf returns how a turn ended. A turn found nothing if it called tools that search, and each of
// its successful calls came back empty.
func OutcomeOf(t Trace) schemas.Outcome {
	switch t.Status {
	case string(schemas.OutcomeRefused), string(schemas.OutcomeFailed), schemas.StatusInterrupted:
		return schemas.Outcome(t.Status)
	case schemas.StatusRunning:
		return ""
	}
	unapproved := t.Done != nil && len(t.Done.Unapproved) > 0
	for _, tool := range t.Tools {
		for _, call := range tool.Calls {
			unapproved = unapproved || call.Status == toolhandler.StatusUnapproved
		}
	}
	switch {
	case t.Done != nil && len(t.Done.Emergency) > 0:
		return schemas.OutcomeEmergency
	case unapproved:
		return schemas.OutcomeUnapproved
	case t.foundNothing():
		return schemas.OutcomeNotFound
	}
	return schemas.OutcomeDone
}

// foundNothing reports whether the turn searched, and found nothing.
func (t Trace) foundNothing() bool {
	empty, found := false, false
	for _, tool := range t.Tools {
		for _, call := range tool.Calls {
			empty = empty || call.Empty
			found = found || !call.Empty && (call.Status == toolhandler.StatusOK || call.Status == toolhandler.StatusRepeated)
		}
	}
	return empty && !found
}

// Called returns the names of the tools that were called.
func (t Trace) Called() []string {
	names := []string{}
	for _, tool := range t.Tools {
		if len(tool.Calls) > 0 {
			names = append(names, tool.Name)
		}
	}
	return names
}
