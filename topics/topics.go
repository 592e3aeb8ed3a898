// Package topics holds the topics that come with the program, each a pack: a folder with the texts,
// words, emergencies, learned tables, guide and measured figures of one subject. It is data: package
// subject reads it. What was learned from, and what is only measured by, stands in the folders
// "lines" and "held" of a pack, and is not in the program.
package topics

import (
	"embed"
	"io/fs"
	"slices"
)

//go:embed dental/*.txt dental/learned dental/guide
var packs embed.FS

// Names returns the names of the packs, sorted.
func Names() []string {
	var names []string
	entries, _ := packs.ReadDir(".") // the root of an embedded folder can always be read
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// Open returns a pack, and false if there is none of that name.
func Open(name string) (fs.FS, bool) {
	if !slices.Contains(Names(), name) {
		return nil, false
	}
	pack, err := fs.Sub(packs, name)
	return pack, err == nil
}
