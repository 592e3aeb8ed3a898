package responses

// A held chain holds the responses of one connection that were not stored. The newest can be
// continued there, and the others are its history.
type held struct {
	newest  string
	records map[string]*record
}

// record returns a response of the chain, or nil; h may be nil.
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

// add adds a response that has ended. One that does not continue the chain starts another.
func (h *held) add(id string, r *record) {
	if h.records[r.Previous] == nil {
		clear(h.records)
	}
	if h.records == nil {
		h.records = map[string]*record{}
	}
	h.newest, h.records[id] = id, r
}

// drop drops the chain whose newest response is named.
func (h *held) drop(id string) {
	if id == h.newest {
		h.newest = ""
		clear(h.records)
	}
}
