package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"molar/agent/guardrail"
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
	return os.WriteFile(filepath.Join(folder, talkFile), []byte(guardrail.TrainTalk(lessons)), 0o644)
}

func talkLessons(folder string) ([]guardrail.TalkLesson, error) {
	data, err := os.ReadFile(filepath.Join(folder, "data", "conversation.jsonl"))
	if err != nil {
		return nil, err
	}
	var lessons []guardrail.TalkLesson
	for line := range strings.Lines(string(data)) {
		var l struct {
			Text  string          `json:"text"`
			Needs guardrail.Needs `json:"needs"`
		}
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			return nil, fmt.Errorf("conversation.jsonl: %q: %w", line, err)
		}
		lessons = append(lessons, guardrail.TalkLesson{Text: l.Text, Needs: l.Needs, Weight: 1})
	}
	p, err := load(folder)
	if err != nil {
		return nil, err
	}
	for _, e := range p.train {
		l := guardrail.TalkLesson{Text: e.Text, Needs: guardrail.StandsAlone, Weight: asQuestion}
		switch {
		case e.Follows() && !e.InDomain: // some lean, some change the subject
			continue
		case e.Follows():
			l.Needs, l.Weight = guardrail.FollowUp, asFollowUp
		case e.Kind == "greeting" && e.InDomain:
			l.Needs, l.Weight = guardrail.AboutTalk, asPleasanty
		case e.Kind == "greeting":
			continue
		}
		lessons = append(lessons, l)
	}
	return lessons, nil
}
