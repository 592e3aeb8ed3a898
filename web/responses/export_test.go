package responses

import "molar/internal/sealed"

// KeySize is the size of a sealer's key in bytes.
const KeySize = sealed.KeySize

// ErrForeign is the error of opening a text that another host or owner sealed.
var ErrForeign = sealed.ErrWrong

// NewSealer gives black-box tests a sealer.
func NewSealer(key []byte) (*Sealer, error) { return newSealer(key) }
