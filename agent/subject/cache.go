package subject

import (
	"crypto/sha256"
	"sync"
)

// maxVerdicts bounds the cache; a verdict takes about 250 bytes.
const maxVerdicts = 4096

// A cacheKey is a hash, so that no text of a person is kept.
type cacheKey [sha256.Size]byte

// cacheKeyOf identifies what a judge decided: the topic as it was then, the message
// as it was normalised, and the exchange that it was judged with.
func cacheKeyOf(version, text string, last *Exchange) cacheKey {
	identity := version + "\x00" + text + "\x00"
	if last != nil {
		identity += last.Question + "\x00" + last.Answer
	}
	return sha256.Sum256([]byte(identity))
}

// A cache keeps verdicts of the judge. Once it is full it forgets any of them for a new one.
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
