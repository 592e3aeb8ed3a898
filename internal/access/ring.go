package access

import (
	"slices"

	"molar/internal/config"
	"molar/internal/httpguard"
	"molar/internal/store"
	"molar/schemas"
)

// operatorOwner owns the conversations of all browsers that signed in by the link of the operator, whose
// key in the store of links it is too.
const operatorOwner = "operator"

// A fileKey is a key of the config file, and the groups that limit it.
type fileKey struct {
	key    httpguard.Key
	groups []string
}

// readFileKey reads a key of the config file.
func readFileKey(k config.APIKey) (fileKey, error) {
	hash, err := hashOf(k.Hash, k.Key)
	if err != nil {
		return fileKey{}, err
	}
	id := k.ID()
	key := httpguard.Key{ID: id, Owner: id, Name: k.Name, Hash: hash, Scopes: k.Scopes, Manner: mannerOf(k.Manner())}
	if k.Previous.Set() {
		key.Before, err = hashOf(k.Previous.Hash, k.Previous.Key)
		key.BeforeUntil = k.Previous.End()
	}
	return fileKey{key, k.Groups}, err
}

func hashOf(hash string, text schemas.Secret) (httpguard.Hash, error) {
	if hash == "" {
		return httpguard.HashOf(text.Reveal()), nil
	}
	return httpguard.ParseHash(hash)
}

// Rights returns what the groups of a person allow, as the config file says now; see rightsOf.
func (a *Access) Rights(groups []string) (*schemas.Rights, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return rightsOf(a.groups, groups)
}

// ringOf returns what the keys and sessions open now: those of the file, and the stored ones. Each key
// has the rights that its groups, or its person's, have at this moment; one that they do not admit opens
// nothing, and is left out.
func (a *Access) ringOf(stored []store.APIKey) (keys, sessions []httpguard.Key) {
	for _, k := range a.fromFile {
		if key, ok := a.limited(k.key, k.groups); ok {
			keys = append(keys, key)
		}
	}
	for _, k := range stored {
		if k.Session {
			continue
		}
		if key, ok := a.storedKey(k); ok {
			keys = append(keys, key)
		}
	}
	for _, k := range stored {
		if !k.Session {
			continue
		}
		if key, ok := a.session(k, keys); ok {
			sessions = append(sessions, key)
		}
	}
	return keys, sessions
}

// storedKey returns what a stored key opens now.
func (a *Access) storedKey(k store.APIKey) (httpguard.Key, bool) {
	key, ok := a.read(k)
	if !ok {
		return key, false
	}
	if k.Previous != "" {
		before, err := httpguard.ParseHash(k.Previous)
		if err != nil {
			a.log.Warn("the text of an API key before its rotation cannot be read and opens nothing", "key", k.ID, "error", err)
		} else {
			key.Before, key.BeforeUntil = before, k.PreviousUntil
		}
	}
	if k.Owner != "" {
		return a.forPerson(key, k)
	}
	return a.limited(key, k.Groups)
}

// read returns a stored key or session without rights.
func (a *Access) read(k store.APIKey) (httpguard.Key, bool) {
	hash, err := httpguard.ParseHash(k.Hash)
	if err != nil {
		a.log.Warn("a stored API key cannot be read and opens nothing", "key", k.ID, "error", err)
		return httpguard.Key{}, false
	}
	return httpguard.Key{
		ID: k.ID, Owner: k.ID, Name: k.Name, Hash: hash, Scopes: k.Scopes, Expires: k.ExpiresAt,
		LastUsed: k.LastUsed, Session: k.Session, Manner: mannerOf(k.KeyManner),
	}, true
}

// limited gives a key the rights of its groups, and of its scopes those that they have. A key without
// groups has no limit. One whose groups are gone opens nothing, even if no group is left at all.
func (a *Access) limited(key httpguard.Key, groups []string) (httpguard.Key, bool) {
	if len(groups) == 0 {
		return key, true
	}
	rights, ok := rightsOf(a.groups, groups)
	if !ok || rights == nil {
		return key, false
	}
	key.Rights, key.Scopes = rights, both(key.Scopes, rights.Scopes())
	return key, len(key.Scopes) > 0
}

// forPerson gives a key or session what its person may do, as long as their groups admit them.
func (a *Access) forPerson(key httpguard.Key, k store.APIKey) (httpguard.Key, bool) {
	if k.Of == nil {
		return key, false
	}
	rights, ok := rightsOf(a.groups, k.Of.Groups)
	if !ok {
		return key, false
	}
	scopes := rights.Scopes()
	if !k.Session {
		scopes = both(key.Scopes, scopes)
	}
	key.Owner, key.Counts, key.Person, key.Rights, key.Scopes = k.Owner, k.Owner, true, rights, scopes
	return key, len(key.Scopes) > 0
}

// both returns the scopes that are in both lists.
func both(scopes, allowed []string) []string {
	return slices.DeleteFunc(slices.Clone(scopes), func(s string) bool { return !slices.Contains(allowed, s) })
}

// session returns what a stored session opens now: what its key opens, or its person, or the operator's
// link.
func (a *Access) session(k store.APIKey, keys []httpguard.Key) (httpguard.Key, bool) {
	key, ok := a.read(k)
	if !ok {
		return key, false
	}
	key.Idle = sessionIdle
	if key.LastUsed.IsZero() {
		key.LastUsed = k.CreatedAt
	}
	switch {
	case k.Parent != "":
		return a.ofKey(key, k, keys)
	case k.Owner != "":
		return a.forPerson(key, k)
	}
	key.Owner = operatorOwner
	return key, true
}

// ofKey gives a session what its key opens. The session ends with the key, and with the text of the key
// with which it was made.
func (a *Access) ofKey(session httpguard.Key, k store.APIKey, keys []httpguard.Key) (httpguard.Key, bool) {
	i := slices.IndexFunc(keys, func(key httpguard.Key) bool { return key.ID == k.Parent })
	if i < 0 {
		return session, false
	}
	of := keys[i]
	session.Expires = of.Expires
	switch k.MadeWith {
	case "", of.Hash.String():
	case of.Before.String():
		if end := of.BeforeUntil; session.Expires.IsZero() || end.Before(session.Expires) {
			session.Expires = end
		}
	default:
		return session, false
	}
	session.Owner, session.Scopes, session.Person, session.Rights, session.Manner = of.Owner, of.Scopes, of.Person, of.Rights, of.Manner
	if session.Counts = of.Counts; session.Counts == "" {
		session.Counts = of.ID
	}
	return session, true
}
