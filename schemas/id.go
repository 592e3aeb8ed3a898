package schemas

import "github.com/google/uuid"

// NewID returns the id of a new turn or of a new conversation: a UUID of version 7. It begins with
// the time, so that the indexes of a database grow at one end: the turns of one commit then change
// one page of each index, not one each. At least 62 of its bits are random.
// https://www.rfc-editor.org/rfc/rfc9562#name-uuid-version-7
func NewID() string { return uuid.Must(uuid.NewV7()).String() }
