package turn

import (
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"

	"molar/schemas"
)

var (
	// ErrInvalid says that the turn can never succeed as it is. It names the fault.
	ErrInvalid = errors.New("invalid request")
	// ErrToolChoice is an ErrInvalid: the tool that the turn must call is not offered.
	ErrToolChoice = fmt.Errorf("%w: tool_choice", ErrInvalid)
)

// Question returns the last message of role user, and false when there is none
// with any text in it.
func (t Turn) Question() (string, bool) {
	message, err := t.Asked()
	return message.Said(), err == nil
}

// Asked returns the last message of role user, which must have readable text.
func (t Turn) Asked() (schemas.Message, error) {
	for _, m := range slices.Backward(t.Messages) {
		if m.Role != schemas.RoleUser {
			continue
		}
		switch said := m.Said(); {
		case said == "":
			return m, fmt.Errorf("%w: the last user message has no text", ErrInvalid)
		case !utf8.ValidString(said):
			return m, fmt.Errorf("%w: the last user message is not valid UTF-8", ErrInvalid)
		}
		return m, nil
	}
	return schemas.Message{}, fmt.Errorf("%w: there is no message of role user", ErrInvalid)
}
