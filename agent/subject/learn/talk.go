package learn

import (
	"io/fs"

	"molar/agent/subject"
)

// Training parameters of the needs of messages, chosen by cross-validation.
const (
	talkDecay  = 2e-3
	talkEpochs = 12
)

// The weights of lessons from labelled lines; a lesson from the conversations about many subjects
// weighs 1.
const (
	asFollowUp  = 0.6
	asQuestion  = 0.1
	asPleasanty = 0.6
)

// conversations is the file, among the lines of no subject, of messages labelled by their needs.
const conversations = "conversation.jsonl"

// A talkLesson is a message labelled by its needs.
type talkLesson struct {
	text   string
	needs  subject.Needs // StandsAlone, FollowUp or AboutTalk
	weight float64
}

// Talk learns what messages need of their conversation, from the conversations about many subjects in
// general, and from the labelled lines of a topic. It returns both tables as package subject embeds
// them. Each label counts the same, however many lessons it has.
func Talk(general fs.FS, lines []subject.Line) ([]byte, error) {
	lessons, err := talkLessons(general, lines)
	if err != nil {
		return nil, err
	}
	sums := make(map[subject.Needs]float64)
	for _, l := range lessons {
		sums[l.needs] += l.weight
	}
	var out []byte
	for _, needs := range []subject.Needs{subject.FollowUp, subject.AboutTalk} {
		var all []sample
		for _, l := range lessons {
			share := l.weight * float64(len(lessons)) / sums[l.needs] / float64(len(sums))
			all = append(all, sample{features: subject.TalkFeatures(l.text), in: l.needs == needs, weight: share})
		}
		out = fit(all, subject.TalkBits, talkEpochs, talkDecay).Append(out)
	}
	return out, nil
}

func talkLessons(general fs.FS, lines []subject.Line) ([]talkLesson, error) {
	var lessons []talkLesson
	data, err := fs.ReadFile(general, conversations)
	if err != nil {
		return nil, err
	}
	err = subject.Lines(conversations, string(data), func(l struct {
		Text, Lang string
		Needs      subject.Needs
	},
	) error {
		lessons = append(lessons, talkLesson{l.Text, l.Needs, 1})
		return nil
	})
	for _, line := range lines {
		e, l := line.Example(), talkLesson{line.Text, subject.StandsAlone, asQuestion}
		switch {
		case e.Follows() && !e.InDomain: // unusable: some are follow-ups, some change the subject
			continue
		case e.Follows():
			l.needs, l.weight = subject.FollowUp, asFollowUp
		case e.Kind == "greeting" && e.InDomain:
			l.needs, l.weight = subject.AboutTalk, asPleasanty
		case e.Kind == "greeting":
			continue
		}
		lessons = append(lessons, l)
	}
	return lessons, err
}
