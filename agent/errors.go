package agent

import (
	"errors"
	"fmt"
)

// The kinds of error that end a turn, besides providers.Error for a model that
// failed. Callers map them with errors.Is.
var (
	// ErrParent is an ErrInvalid: the parent turn is not in the conversation.
	ErrParent = fmt.Errorf("%w: parent", ErrInvalid)
	// ErrWithout is an ErrInvalid: the turn leaves out a tool that does not exist.
	ErrWithout = fmt.Errorf("%w: without", ErrInvalid)
	// ErrNotFound: no assistant has that name.
	ErrNotFound = errors.New("not found")
	// ErrUnavailable: something that the assistant needs is missing now.
	ErrUnavailable = errors.New("unavailable")
	// ErrSearch is an ErrUnavailable: the assistant cannot search.
	ErrSearch = fmt.Errorf("%w: search", ErrUnavailable)
	// ErrStore is an ErrUnavailable: the store does not answer.
	ErrStore = fmt.Errorf("%w: store", ErrUnavailable)
	// ErrBusy: the conversation has a running turn.
	ErrBusy = errors.New("conversation is busy")
)

// StoredPart is what is stored of an interrupted turn.
type StoredPart string

// What is stored of an interrupted turn; empty if unknown.
const (
	StoredNothing  StoredPart = "nothing"
	StoredQuestion StoredPart = "question"
	// StoredAnswer is the question and the answer so far.
	StoredAnswer StoredPart = "answer"
)

// A brokenError is the error that ended a turn, with what is stored of the turn.
type brokenError struct {
	error
	kept StoredPart
}

func (e brokenError) Unwrap() error { return e.error }

// StoredOf returns what is stored of the turn that ended with err.
func StoredOf(err error) StoredPart {
	e, _ := errors.AsType[brokenError](err)
	return e.kept
}
