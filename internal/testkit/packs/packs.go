// Package packs opens the topics that come with the program, for tests.
package packs

import (
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
