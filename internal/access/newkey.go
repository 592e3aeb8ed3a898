package access

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"molar/internal/config"
	"molar/internal/httpguard"
	"molar/schemas"
)

// A Key is a new key as it is shown once.
type Key struct {
	ID     string   `json:"id,omitempty"`
	Name   string   `json:"name"`
	Key    string   `json:"key"`
	Hash   string   `json:"hash"`
	Scopes []string `json:"scopes"`
	schemas.KeyManner
	// Groups limit the key, and Person is the id of the person for whom it acts.
	Groups    []string  `json:"groups,omitempty"`
	Person    string    `json:"person,omitempty"`
	ExpiresAt time.Time `json:"expires_at,omitzero"`
}

// NewKey makes a key that is not stored yet.
func NewKey(name string, scopes []string, manner schemas.KeyManner, expires string, now time.Time) (Key, error) {
	if !config.IsKeyName(name) {
		return Key{}, fmt.Errorf("name %q: want 1 to 64 letters, digits, '.', '_' and '-', the first a letter or digit", name)
	}
	for i, scope := range scopes {
		if !slices.Contains(config.KeyScopes(), scope) {
			return Key{}, fmt.Errorf("--scope %q: choose of %s", scope, strings.Join(config.KeyScopes(), ", "))
		}
		if slices.Contains(scopes[:i], scope) {
			return Key{}, fmt.Errorf("--scope %q is given twice", scope)
		}
	}
	for _, s := range manner.Settings() {
		if !slices.Contains(s.Allowed, s.Value) {
			return Key{}, fmt.Errorf("--%s %q: choose of %s", s.Name, s.Value, strings.Join(s.Allowed, ", "))
		}
	}
	text := httpguard.NewKeyText()
	key := Key{Name: name, Key: text, Hash: httpguard.HashOf(text).String(), Scopes: scopes, KeyManner: manner}
	if expires != "" {
		life, err := config.ParseDuration(expires)
		if err != nil || life <= 0 {
			return Key{}, fmt.Errorf("--expires %q: want a time such as 90d or 12h", expires)
		}
		key.ExpiresAt = now.Add(life).UTC().Truncate(time.Second)
	}
	return key, nil
}
