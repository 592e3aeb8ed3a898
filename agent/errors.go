package agent

import "errors"

// The kinds of error that end a turn, besides providers.Error for a model that
// failed. Callers map them with errors.Is.
var (
	// ErrInvalid: the turn can never succeed as it is. It names the fault.
	ErrInvalid = errors.New("invalid request")
	// ErrNotFound: no assistant of that name.
	ErrNotFound = errors.New("not found")
	// ErrUnavailable: something that the assistant needs cannot be had now.
	ErrUnavailable = errors.New("unavailable")
	// ErrNotSaved: the answer was given in full and could not be stored.
	ErrNotSaved = errors.New("answer not saved")
	// ErrBusy: the conversation has a running turn.
	ErrBusy = errors.New("conversation is busy")
)
