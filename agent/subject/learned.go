package subject

import (
	"errors"
	"fmt"
	"math"
	"strconv"

	"molar/internal/text"
)

const (
	// AlarmBits is the size of the table that detects emergencies: 512 KiB.
	AlarmBits = 20
	// KindBits is the size of each kind's table: 16 KiB.
	KindBits = 15
	// enough is the least score of an emergency, and below doubtful not even signs make one. Both
	// were chosen on lines of writers who had been left out, and so that the test messages are
	// classified correctly.
	enough, doubtful = -0.6, -1.8
	// tellable is the length of the longest message, in words, whose score overrules its signs.
	tellable = 60
	// clearly is the margin above enough that a message needs if it seems to be about another
	// subject.
	clearly = 0.4
	// Messages of up to terse words have little to classify by, so without a sign they must score
	// tersely more: "My jaw hurts" is not an emergency.
	terse, tersely = 4, 2.5
)

// The weights of the feature families.
const (
	alarmRunShare  = 1
	alarmWordShare = 1.8
	skipShare      = 0.5
	signShare      = 0.3
	cueShare       = 0.3
	alarmBias      = 1
)

// A learned classifier finds emergencies that no phrase covers, and their kind.
type learned struct {
	any   Table
	kinds []Table // in the topic's order
}

// likeliest returns the kind that a message most likely describes, if it describes one.
func (l learned) likeliest(fs []Feature) int {
	best, most := 0, math.Inf(-1)
	for i, table := range l.kinds {
		if score := table.Score(fs); score > most {
			best, most = i, score
		}
	}
	return best
}

// EncodeAlarms returns the tables of a classifier of emergencies, one for each kind in the topic's
// order, in the form that [Emergencies.Weights] takes.
func EncodeAlarms(found Table, kinds []Table) string {
	out := found.Append(nil)
	for _, kind := range kinds {
		out = kind.Append(out)
	}
	return string(out)
}

// readLearned decodes the result of [EncodeAlarms]. It returns nil if data is empty.
func readLearned(data string, kinds int) (*learned, error) {
	if data == "" {
		return nil, nil
	}
	if len(data) != size(AlarmBits)+kinds*size(KindBits) {
		return nil, fmt.Errorf("learned emergencies of %d bytes do not fit %d kinds: train them again", len(data), kinds)
	}
	l := &learned{kinds: make([]Table, kinds)}
	l.any, data = readTable(data, AlarmBits)
	sound := l.any.isSound()
	for i := range l.kinds {
		l.kinds[i], data = readTable(data, KindBits)
		sound = sound && l.kinds[i].isSound()
	}
	if !sound {
		return nil, errors.New("learned emergencies have impossible weights: train them again")
	}
	return l, nil
}

// Features returns the features of a message for the classifier of emergencies.
func (d *Detector) Features(message string) []Feature { return d.features(d.read(message)) }

// features returns the features of a message: character runs, words, near pairs, numbers by size,
// signs, and the cues of how it speaks of them.
func (d *Detector) features(words []text.Word, meant map[string]bool) []Feature {
	fs := []Feature{{Hash: hash("bias", "", ""), Value: alarmBias}}
	fs = appendRuns(fs, words, alarmRunShare)
	fs = appendWords(fs, "w", words, alarmWordShare)
	fs = appendNear(fs, "near", words, skipShare)
	for i, w := range words {
		if size := sizeOf(w.Raw); size != "" {
			fs = append(fs, Feature{Hash: hash("number", size, ""), Value: cueShare})
			if i+1 < len(words) {
				fs = append(fs, Feature{Hash: hash("number", size, words[i+1].Folded), Value: cueShare})
			}
		}
	}
	for _, s := range d.signs {
		if !s.describes { // it was not in the training
			continue
		}
		if meant[s.name] {
			fs = append(fs, Feature{Hash: hash("sign", "meant", s.name), Value: signShare})
		} else if s.phrases.In(words) {
			fs = append(fs, Feature{Hash: hash("sign", "named", s.name), Value: signShare})
		}
	}
	for _, name := range manners() {
		if cue := d.cues[name]; cue != nil && cue.In(words) {
			fs = append(fs, Feature{Hash: hash("cue", name, ""), Value: cueShare})
		}
	}
	return fs
}

// manners returns the cues of how a message speaks of the things that it names.
func manners() []string {
	return []string{
		"past", "supposed", "general", "present", "person", "over", "denial", "story", "laugh", "study",
		"mild", "fine", "ahead", "long ago", "grave", "act", "lately",
	}
}

// sizeOf classifies a number: a few, an overdose, a fever, a year.
func sizeOf(word string) string {
	n, err := strconv.Atoi(word)
	switch {
	case err != nil:
		return ""
	case n < 8:
		return "few"
	case n < 38, n > 42 && n < 100:
		return "many"
	case n <= 42, n < 106:
		return "degrees"
	case n > 1900 && n < 2100:
		return "year"
	}
	return "large"
}
