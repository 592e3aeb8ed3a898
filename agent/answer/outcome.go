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
	unapproved, empty, found := t.Done != nil && len(t.Done.Unapproved) > 0, false, false
	for _, tool := range t.Tools {
		for _, call := range tool.Calls {
			unapproved = unapproved || call.Status == toolhandler.StatusUnapproved
			empty = empty || call.Empty
			found = found || !call.Empty && (call.Status == toolhandler.StatusOK || call.Status == toolhandler.StatusRepeated)
		}
	}
	switch {
	case t.Done != nil && len(t.Done.Emergency) > 0:
		return schemas.OutcomeEmergency
	case unapproved:
		return schemas.OutcomeUnapproved
	case empty && !found:
		return schemas.OutcomeNotFound
	}
	return schemas.OutcomeDone
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
