// Package topics holds the topics that come with the program, each a pack: a folder with the texts,
// words, emergencies, learned tables, guide and measured figures of one subject. It is data: package
// subject reads it. What was learned from stands in the folder "lines" of a pack, and is not in the program;
// what is only measured by is in "held", so that anybody can measure a pack again.
package topics

import (
	"embed"
	"io/fs"
	"slices"
)

// The pattern with a dot takes the files of a pack and leaves out the folders beside them.
//
//go:embed dental/*.* dental/learned dental/guide dental/held
var packs embed.FS

//go:embed general/others.jsonl general/followups.jsonl general/greetings.jsonl general/*.txt
var general embed.FS

// General returns the lines of no subject, which serve every topic that is learned: messages of other
// subjects, follow-ups that leave a subject, tasks, answers on other subjects, and frames in which
// somebody's emergency is none.
func General() fs.FS {
	files, _ := fs.Sub(general, "general") // it is embedded
	return files
}

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
