package config

import (
	"encoding/hex"
	"slices"
	"strings"
	"time"

	"molar/schemas"
)

// A PreviousKey is the text that a key had before its rotation. Either Hash or Key is set.
type PreviousKey struct {
	Hash string         `yaml:"hash" jsonschema_description:"Hash of the key before."`
	Key  schemas.Secret `yaml:"key" jsonschema_description:"The key before as a reference to the environment, such as ${CI_KEY_BEFORE}."`
	// Until is in RFC 3339; it is valid after loading.
	Until string `yaml:"until" jsonschema_description:"Time until which it works, such as 2026-12-24T00:00:00Z."`
}

// Set reports whether there is a text before.
func (p PreviousKey) Set() bool { return p != PreviousKey{} }

// End returns the time until which it works.
func (p PreviousKey) End() time.Time {
	end, _ := time.Parse(time.RFC3339, p.Until) // the zero time opens nothing
	return end
}

// keyText checks the text or the hash of a key.
func (c *checker) keyText(key, hash string, text schemas.Secret) {
	digits, ok := strings.CutPrefix(hash, "sha256:")
	sum, err := hex.DecodeString(digits)
	switch {
	case (hash == "") == (text == ""):
		c.fault(key, `want either hash: "sha256:…" or key: ${NAME}`)
	case hash != "" && (!ok || err != nil || len(sum) != 32):
		c.fault(key+".hash", `want "sha256:" and 64 hexadecimal digits, as molar keys create --for-config prints it`)
	case text != "" && len(text.Reveal()) < minKeyLength:
		c.fault(key+".key", "want a key of at least %d characters; molar keys create --for-config makes one", minKeyLength)
	}
}

// rotation checks what a key was before, and its groups.
func (c *checker) rotation(key string, k APIKey) {
	if before := k.Previous; before.Set() {
		c.keyText(key+".previous", before.Hash, before.Key)
		if _, err := time.Parse(time.RFC3339, before.Until); err != nil {
			c.fault(key+".previous.until", "want a time such as 2026-12-24T00:00:00Z")
		}
		if before.Hash != "" && before.Hash == k.Hash || before.Key != "" && before.Key == k.Key {
			c.fault(key+".previous", "is the key itself; remove it")
		}
	}
	for i, name := range k.Groups {
		if _, ok := c.cfg.Groups.Get(name); !ok {
			c.fault(index(key+".groups", i), "there is no group %q; define it under groups", name)
		}
		if slices.Contains(k.Groups[:i], name) {
			c.fault(index(key+".groups", i), "%q is named twice", name)
		}
	}
}
