package main

import (
	"os"
	"path/filepath"

	"molar/agent/subject"
)

// talkFile is where the tables of what messages need are embedded from.
const talkFile = "words/conversation.weights"

// What lessons of the dental questions count beside those of conversations about many
// subjects.
const (
	asFollowUp  = 0.6
	asQuestion  = 0.1
	asPleasanty = 0.6
)

// runTalk reads the conversations and questions below folder and writes the tables.
func runTalk(folder string) error {
	lessons, err := talkLessons(folder)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, talkFile), []byte(subject.TrainTalk(lessons)), 0o644)
}

func talkLessons(folder string) ([]subject.TalkLesson, error) {
	var lessons []subject.TalkLesson
	err := subject.Lines(filepath.Join(folder, "data", "conversation.jsonl"), func(l struct {
		Text, Lang string
		Needs      subject.Needs
	},
	) error {
		lessons = append(lessons, subject.TalkLesson{Text: l.Text, Needs: l.Needs, Weight: 1})
		return nil
	})
	if err != nil {
		return nil, err
	}
	p, err := load(folder)
	if err != nil {
		return nil, err
	}
	for _, e := range p.train {
		l := subject.TalkLesson{Text: e.Text, Needs: subject.StandsAlone, Weight: asQuestion}
		switch {
		case e.Follows() && !e.InDomain: // some lean, some change the subject
			continue
		case e.Follows():
			l.Needs, l.Weight = subject.FollowUp, asFollowUp
		case e.Kind == "greeting" && e.InDomain:
			l.Needs, l.Weight = subject.AboutTalk, asPleasanty
		case e.Kind == "greeting":
			continue
		}
		lessons = append(lessons, l)
	}
	return lessons, nil
}
