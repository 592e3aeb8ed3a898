package access

import (
	"cmp"
	"slices"

	"molar/internal/config"
	"molar/internal/httpguard"
	"molar/internal/store"
	"molar/schemas"
)

// Use applies the keys and groups of a config file; they take effect at the next refresh.
func (a *Access) Use(cfg *config.Config) error {
	a.useGroups(cfg.Groups)
	return a.UseFile(cfg.APIKeys)
}

func (a *Access) useGroups(groups config.Map[schemas.Group]) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.groups = groups
}

// Rights returns what the groups of a person allow now, nil without limit; ok is false if none of them
// admits.
func (a *Access) Rights(names []string) (rights *schemas.Rights, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return RightsOf(a.groups)(names)
}

// limit gives a key what its groups, or those of the person for whom it acts, allow. It reports whether
// it opens anything.
func (a *Access) limit(key *httpguard.Key, groups []string, owner string, of *store.Person) bool {
	if owner != "" {
		if of == nil {
			return false // the person is not known here any more
		}
		key.Owner, key.Counts, key.Person, groups = owner, owner, true, of.Groups
	}
	if owner == "" && len(groups) == 0 {
		return true
	}
	rights, ok := a.Rights(groups)
	if !ok {
		return false
	}
	if key.Rights = rights; rights != nil {
		allowed := rights.Scopes()
		if owner != "" && key.Session {
			key.Scopes = allowed
		}
		key.Scopes = slices.DeleteFunc(slices.Clone(key.Scopes), func(s string) bool { return !slices.Contains(allowed, s) })
	}
	return true
}

// made returns the session that was made with a key, which does what the key does and ends with it; ok
// is false if the key is gone.
func made(session httpguard.Key, parent string, keys []httpguard.Key) (key httpguard.Key, ok bool) {
	at := slices.IndexFunc(keys, func(k httpguard.Key) bool { return k.ID == parent })
	if at < 0 {
		return key, false
	}
	key = keys[at]
	key.Counts = cmp.Or(key.Counts, key.ID)
	key.ID, key.Hash, key.Session, key.LastUsed, key.Idle = session.ID, session.Hash, true, session.LastUsed, session.Idle
	if end := session.Expires; !end.IsZero() && (key.Expires.IsZero() || end.Before(key.Expires)) {
		key.Expires = end
	}
	return key, true
}
