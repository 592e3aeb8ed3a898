package agent

import (
	"errors"
	"fmt"
)

// The kinds of error that end a turn, besides providers.Error for a model that
// failed. Callers map them with errors.Is.
var (
	// ErrParent is an ErrInvalid: the conversation does not have the turn to go on after.
	ErrParent = fmt.Errorf("%w: parent", ErrInvalid)
	// ErrNotFound: no assistant of that name.
	ErrNotFound = errors.New("not found")
	// ErrUnavailable: something that the assistant needs cannot be had now.
	ErrUnavailable = errors.New("unavailable")
	// ErrSearch is an ErrUnavailable: the assistant cannot search.
	ErrSearch = fmt.Errorf("%w: search", ErrUnavailable)
	// ErrStore is an ErrUnavailable: the store does not answer.
	ErrStore = fmt.Errorf("%w: store", ErrUnavailable)
	// ErrBusy: the conversation has a running turn.
	ErrBusy = errors.New("conversation is busy")
)

// Kept is what is stored of a turn that broke off.
type Kept string

// What is stored of a turn that broke off; empty where that is not known.
const (
	KeptNothing  Kept = "nothing"
	KeptQuestion Kept = "question"
	// KeptAnswer is the question, and what had been answered.
	KeptAnswer Kept = "answer"
)

// A brokenError is what broke a turn off, with what is stored of it.
type brokenError struct {
	error
	kept Kept
}

func (e brokenError) Unwrap() error { return e.error }

// KeptOf reads from the error of a turn what is stored of it.
func KeptOf(err error) Kept {
	e, _ := errors.AsType[brokenError](err)
	return e.kept
}
