// Package visitors plays a crowd of visitors of a public assistant, who come from several addresses
// through a trusted proxy. They ask, read what they have, and reach for what others have. The package
// checks from outside what the host promises: that each limit lets through as many questions as it
// allows, and that nobody sees a word of somebody else.
package visitors

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"molar/schemas"
)

// A Config describes a crowd.
type Config struct {
	// Hosts are the base URLs of the replicas; each request goes to a random one.
	Hosts []string
	// Visitors are at most 10,000, from so many Addresses: every second one of them is an IPv6 network
	// of 64 bits, in which a visitor has another address for each request. In the second half of the
	// addresses there are more than twice as many visitors as in the first one, so that one run can
	// reach the limits of both.
	Visitors, Addresses int
	// Length is how long they ask, Every the mean time from one question of a visitor to the next: some
	// take half of it and some one and a half, so that they are refused by their own limits before
	// all together reach theirs.
	Length, Every time.Duration
	// Limits are those that the hosts apply; the zero Rate stands for none.
	Limits Limits
	// Transport reaches the hosts; nil means connections of the crowd's own, one for each visitor.
	Transport http.RoundTripper
}

// Limits are the limits on questions: of a visitor, of an address, and of all visitors together.
type Limits struct {
	Visitor, Address, All schemas.Rate
}

// A Crowd is a number of visitors who come once.
type Crowd struct {
	cfg    Config
	client *http.Client
	record record
}

// New returns a crowd that has not come yet.
func New(cfg Config) (*Crowd, error) {
	switch {
	case len(cfg.Hosts) == 0:
		return nil, errors.New("a crowd needs at least one host")
	case cfg.Addresses < 2 || cfg.Visitors < 2*cfg.Addresses || cfg.Visitors > most:
		return nil, fmt.Errorf("a crowd of %d visitors of %d addresses: want 2 addresses or more, and from 2 visitors for each to %d in all", cfg.Visitors, cfg.Addresses, most)
	case cfg.Length <= 0 || cfg.Every <= 0:
		return nil, fmt.Errorf("a crowd that asks for %s, every %s: both must be above zero", cfg.Length, cfg.Every)
	}
	if cfg.Transport == nil {
		cfg.Transport = &http.Transport{MaxIdleConns: cfg.Visitors, MaxIdleConnsPerHost: cfg.Visitors, DisableCompression: true}
	}
	return &Crowd{cfg: cfg, client: &http.Client{Transport: cfg.Transport}}, nil
}

// Run lets the crowd come, ask and go, and returns what was seen. It ends early with ctx.
func (c *Crowd) Run(ctx context.Context) *Report {
	defer c.client.CloseIdleConnections()
	began := time.Now()
	var all sync.WaitGroup
	for number := range c.cfg.Visitors {
		v := c.visitor(number)
		all.Go(func() { v.stay(ctx, began.Add(c.cfg.Length)) })
	}
	all.Wait()
	return c.record.report(c.cfg, time.Since(began))
}

// visitor returns a visitor who has not come yet.
func (c *Crowd) visitor(number int) *visitor {
	at := place(number, c.cfg.Visitors, c.cfg.Addresses)
	every := c.cfg.Every/2 + c.cfg.Every*time.Duration(number%11)/10
	return &visitor{crowd: c, number: number, address: at, cookies: number%2 == 0, every: every}
}

// place returns the address of a visitor: three in ten are in the first half of the addresses.
func place(number, visitors, addresses int) int {
	few, half := visitors*3/10, addresses/2
	if number < few {
		return number % half
	}
	return half + (number-few)%(addresses-half)
}

// client returns the address from which a request of a visitor comes.
func client(address, visitor int) string {
	if address%2 == 0 {
		return fmt.Sprintf("198.51.%d.%d", address/250, address%250+1)
	}
	return fmt.Sprintf("2001:db8:0:%x:%x:%x:%x:1", address, visitor, rand.N(1<<16), rand.N(1<<16))
}

// pause waits, or until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
