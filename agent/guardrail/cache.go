package guardrail

import (
	linked "container/list"
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
	h := sha256.New()
	for _, part := range []string{version, text} {
		h.Write([]byte(part))
		h.Write([]byte{0})
	}
	if last != nil {
		h.Write([]byte(last.Question + "\x00" + last.Answer))
	}
	return cacheKey(h.Sum(nil))
}

// A cache keeps the latest verdicts of the judge.
type cache struct {
	mu    sync.Mutex
	order *linked.List // of cached, the latest used in front
	byKey map[cacheKey]*linked.Element
}

type cached struct {
	key     cacheKey
	verdict Verdict
}

func newCache() *cache {
	return &cache{order: linked.New(), byKey: make(map[cacheKey]*linked.Element)}
}

func (c *cache) get(key cacheKey) (Verdict, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.byKey[key]
	if !ok {
		return Verdict{}, false
	}
	c.order.MoveToFront(e)
	return e.Value.(cached).verdict, true
}

func (c *cache) put(key cacheKey, v Verdict) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.byKey[key]; ok {
		e.Value = cached{key, v}
		c.order.MoveToFront(e)
		return
	}
	c.byKey[key] = c.order.PushFront(cached{key, v})
	if c.order.Len() > maxVerdicts {
		oldest := c.order.Back()
		c.order.Remove(oldest)
		delete(c.byKey, oldest.Value.(cached).key)
	}
}
