// Package packs opens the topics that come with the program, for tests.
package packs

import (
	"io/fs"

	"molar/agent/subject"
	"molar/topics"
)

// Dental returns the dental topic.
func Dental() subject.Topic {
	pack, _ := topics.Open("dental")
	t, err := subject.ReadPack(pack, "dental")
	if err != nil {
		panic(err) // it is embedded: every test would fail
	}
	return t
}

// DentalGuide returns the documents of the dental topic.
func DentalGuide() fs.FS {
	pack, _ := topics.Open("dental")
	guide, err := fs.Sub(pack, subject.GuideFolder)
	if err != nil {
		panic(err) // it is embedded
	}
	return guide
}
