package main

import (
	"path/filepath"

	"molar/agent/subject"
)

// The weights of lessons from the dental questions; a lesson from the conversations about many
// subjects weighs 1.
const (
	asFollowUp  = 0.6
	asQuestion  = 0.1
	asPleasanty = 0.6
)

// learnTalk trains the classifier of the needs of messages.
func learnTalk(root string) ([][]byte, error) {
	lessons, err := talkLessons(root)
	if err != nil {
		return nil, err
	}
	return [][]byte{[]byte(subject.TrainTalk(lessons))}, nil
}

// talkLessons returns the lessons from the conversations and from the dental questions.
func talkLessons(root string) ([]subject.TalkLesson, error) {
	var lessons []subject.TalkLesson
	err := subject.Lines(filepath.Join(root, general, "conversation.jsonl"), func(l struct {
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
	p, err := load(root)
	if err != nil {
		return nil, err
	}
	for _, e := range p.train {
		l := subject.TalkLesson{Text: e.Text, Needs: subject.StandsAlone, Weight: asQuestion}
		switch {
		case e.Follows() && !e.InDomain: // unusable: some are follow-ups, some change the subject
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
