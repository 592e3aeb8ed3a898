package offer

import (
	"bytes"
	"strings"
	"sync"

	"molar/schemas"
)

// spareReadings is how many tools a reader remembers beyond twice those that it was last asked about, and
// spareStems how many words for each tool: then it starts over, as a server may list other words each time.
const spareReadings, spareStems = 1000, 100

// A reading is the stems of a tool's words, field by field.
type reading [fields][]string

// A reader reads the words of tools, each tool once.
type reader struct {
	mu    sync.Mutex
	known map[string]remembered // by offered name
	stems map[string]string     // so that each is kept once
}

type remembered struct {
	tool    schemas.ToolInfo
	reading reading
}

// read returns the readings of tools. Another call waits for no words to be read.
func (r *reader) read(tools []schemas.ToolInfo) []reading {
	all := make([]reading, len(tools))
	var fresh []int
	for i, t := range tools {
		if known, ok := r.knows(t); ok {
			all[i] = known
		} else {
			all[i], fresh = wordsOf(t), append(fresh, i)
		}
	}
	if len(fresh) > 0 {
		r.keep(tools, all, fresh)
	}
	return all
}

// knows returns the reading of a tool that was read before.
func (r *reader) knows(t schemas.ToolInfo) (reading, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	k, seen := r.known[t.Name]
	return k.reading, seen && sameWords(k.tool, t)
}

// keep remembers the fresh readings, of all of the tools.
func (r *reader) keep(tools []schemas.ToolInfo, all []reading, fresh []int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.known == nil || len(r.known) > 2*len(tools)+spareReadings || len(r.stems) > spareStems*(len(tools)+spareReadings) {
		r.known, r.stems = make(map[string]remembered, len(tools)), map[string]string{}
	}
	for _, i := range fresh {
		for _, stems := range all[i] {
			for j, stem := range stems {
				kept, known := r.stems[stem]
				if !known {
					kept = strings.Clone(stem) // it is a part of a whole description
					r.stems[kept] = kept
				}
				stems[j] = kept
			}
		}
		r.known[tools[i].Name] = remembered{tools[i], all[i]}
	}
}

// sameWords reports whether two tools have the same words.
func sameWords(a, b schemas.ToolInfo) bool {
	return a.Name == b.Name && a.ToolName == b.ToolName && a.Server == b.Server && a.Title == b.Title &&
		a.Description == b.Description && bytes.Equal(a.InputSchema, b.InputSchema)
}
