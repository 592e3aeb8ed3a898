package subject

import (
	"crypto/sha256"
	"sync"
)

// maxVerdicts bounds the cache; a verdict takes about 250 bytes.
const maxVerdicts = 4096

// A cacheKey is a hash, so that the cache holds no text of a person.
type cacheKey [sha256.Size]byte

// cacheKeyOf returns the key of a judge's decision: the topic's version, the normalised message,
// and the exchange before it.
func cacheKeyOf(version, text string, last *Exchange) cacheKey {
	identity := version + "\x00" + text + "\x00"
	if last != nil {
		identity += last.Question + "\x00" + last.Answer
	}
	return sha256.Sum256([]byte(identity))
}

// A cache holds verdicts of the judge. When full, it drops an arbitrary one for a new one.
type cache struct {
	mu    sync.Mutex
	byKey map[cacheKey]Verdict
}

func (c *cache) get(key cacheKey) (Verdict, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	v, known := c.byKey[key]
	return v, known
}

func (c *cache) put(key cacheKey, v Verdict) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.byKey) >= maxVerdicts {
		for old := range c.byKey {
			delete(c.byKey, old)
			break
		}
	}
	c.byKey[key] = v
}
