package httpguard

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash/crc32"
	"math/big"
	"strings"
)

// A Hash is the SHA-256 of a key's text. Slow hashes are for passwords: the text here holds
// 256 random bits, which cannot be guessed, and the hash is computed for every request.
type Hash [sha256.Size]byte

// hashPrefix comes before a hash that is written out.
const hashPrefix = "sha256:"

// HashOf returns the hash of a key's text.
func HashOf(text string) Hash { return sha256.Sum256([]byte(text)) }

// String writes the hash as "sha256:" and 64 hexadecimal digits.
func (h Hash) String() string { return hashPrefix + hex.EncodeToString(h[:]) }

// ParseHash reads what String wrote.
func ParseHash(text string) (Hash, error) {
	var h Hash
	digits, ok := strings.CutPrefix(text, hashPrefix)
	if n, err := hex.Decode(h[:], []byte(digits[:min(len(digits), 2*len(h))])); !ok || err != nil || n != len(h) || len(digits) != 2*len(h) {
		return Hash{}, errors.New(`want "sha256:" and 64 hexadecimal digits, as molar keys create --for-config prints it`)
	}
	return h, nil
}

// The parts of a key's text: the prefix, 256 random bits and a checksum, by which scanners for
// leaked secrets recognise one.
const (
	keyPrefix = "mk_"
	base62    = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	// bitsLength is how many base 62 digits hold 256 bits, sumLength 32 bits.
	bitsLength, sumLength = 43, 6
)

// NewKeyText makes the text of a new key.
func NewKeyText() string {
	var bits [32]byte
	_, _ = rand.Read(bits[:]) // it never fails
	body := keyPrefix + inBase62(new(big.Int).SetBytes(bits[:]), bitsLength)
	return body + checksum(body)
}

// isCut reports whether a text began as a key and was cut or mistyped.
func isCut(text string) bool {
	body := len(keyPrefix) + bitsLength
	return strings.HasPrefix(text, keyPrefix) && (len(text) != body+sumLength || text[body:] != checksum(text[:body]))
}

func checksum(body string) string {
	return inBase62(new(big.Int).SetUint64(uint64(crc32.ChecksumIEEE([]byte(body)))), sumLength)
}

func inBase62(n *big.Int, length int) string {
	digits := make([]byte, length)
	base, rest := big.NewInt(int64(len(base62))), new(big.Int)
	for i := range digits {
		n.DivMod(n, base, rest)
		digits[length-1-i] = base62[rest.Int64()]
	}
	return string(digits)
}
