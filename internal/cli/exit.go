package cli

import "fmt"

// The exit codes of every command. Some commands have further ones.
const (
	OK          = 0
	Failure     = 1
	Misuse      = 2
	Interrupted = 130
)

// An Error ends the program with an exit code. A nil err prints nothing.
type Error struct {
	Code int
	Err  error
}

func (e *Error) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("exit code %d", e.Code)
	}
	return e.Err.Error()
}

func (e *Error) Unwrap() error { return e.Err }

// With returns err with an exit code.
func With(code int, err error) error { return &Error{code, err} }

// Exit returns an error that prints nothing and ends the program with code.
func Exit(code int) error { return &Error{Code: code} }

// Usage returns err as a fault of the arguments or settings.
func Usage(err error) error { return &Error{Misuse, err} }
