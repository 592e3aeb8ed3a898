package responses

// KeySize is the size of a sealer's key in bytes.
const KeySize = keySize

// ErrForeign is the error of opening a text that another host or owner sealed.
var ErrForeign = errForeign

// NewSealer gives black-box tests a sealer.
func NewSealer(key []byte) (*Sealer, error) { return newSealer(key) }
