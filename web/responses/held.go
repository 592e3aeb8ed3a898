package responses

// A held chain is what only one connection knows: responses that were not stored. The
// newest can be continued there, and the others are its history.
type held struct {
	newest  string
	records map[string]*record
}

// record returns a response of the chain; nil for one that it does not hold, and of a nil
// chain.
func (h *held) record(id string) *record {
	if h == nil {
		return nil
	}
	return h.records[id]
}

// tip returns the response that can be continued, if id names it.
func (h *held) tip(id string) *record {
	if h == nil || id != h.newest {
		return nil
	}
	return h.records[id]
}

// add takes a response that has ended. One that continues nothing of the chain begins
// another.
func (h *held) add(id string, r *record) {
	if h.records[r.Previous] == nil {
		clear(h.records)
	}
	if h.records == nil {
		h.records = map[string]*record{}
	}
	h.newest, h.records[id] = id, r
}

// drop forgets the chain whose newest response is named.
func (h *held) drop(id string) {
	if id == h.newest {
		h.newest = ""
		clear(h.records)
	}
}
