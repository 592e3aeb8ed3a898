package agent

import (
	"errors"
	"fmt"
)

// The kinds of error that end a turn, besides providers.Error for a model that
// failed. Callers map them with errors.Is.
var (
	// ErrInvalid: the turn can never succeed as it is. It names the fault.
	ErrInvalid = errors.New("invalid request")
	// ErrToolChoice is an ErrInvalid: the tool that the turn must call is not offered.
	ErrToolChoice = fmt.Errorf("%w: tool_choice", ErrInvalid)
	// ErrNotFound: no assistant of that name.
	ErrNotFound = errors.New("not found")
	// ErrUnavailable: something that the assistant needs cannot be had now.
	ErrUnavailable = errors.New("unavailable")
	// ErrNotSaved: the answer was given in full and could not be stored.
	ErrNotSaved = errors.New("answer not saved")
	// ErrBusy: the conversation has a running turn.
	ErrBusy = errors.New("conversation is busy")
)
