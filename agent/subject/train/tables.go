package main

import "slices"

// A table is the result of one training run. No table depends on another one. Paths are relative to
// the root of the module.
type table struct {
	name string
	// files are the files to write.
	files []string
	// from are the patterns of the files that the table depends on: training lines, word lists, and
	// the code that trains.
	from []string
	// learn reads its input below the root and returns the content of each of files.
	learn func(root string) ([][]byte, error)
}

const subjectFolder, trainer, words = "agent/subject/", "agent/subject/train/", "internal/text/"

func tables() []table {
	lines := slices.Concat(in(subjectFolder, "sections.go", "topic.go"), in(trainer, "lines.go"))
	fitting := slices.Concat(lines, in(subjectFolder, "features.go", "fit.go", "table.go"), in(words, "fold.go", "words.go"))
	guarding := slices.Concat(fitting, in(subjectFolder, "model.go", "normalise.go", "reading.go"))
	return []table{
		{
			name: "talk", files: in(subjectFolder, "words/conversation.weights"), learn: learnTalk,
			from: slices.Concat(guarding, in(subjectFolder, "talk.go"), in(trainer, "talk.go"),
				in(general, "conversation.jsonl"), in(labelled, "known.jsonl", "broad.jsonl", "questions.jsonl")),
		},
		{
			name: "topic", files: in(pack, "learned/messages", "held/test.jsonl"), learn: learnTopic,
			from: slices.Concat(guarding, in(subjectFolder, "learn.go", "pack.go", "emergencies.go"), in(pack, "*.txt"), in(trainer, "topic.go"),
				in(labelled, "known.jsonl", "broad.jsonl", "questions.jsonl", "traps.jsonl", "plain.jsonl", "probe*.jsonl", "strangers.jsonl", "answers.txt"),
				in(guideFolder, "*/*.md")),
		},
		{
			name: "alarms", files: in(pack, "learned/emergencies"), learn: learnAlarms,
			from: slices.Concat(fitting, in(subjectFolder, "learned.go", "pack.go", "emergencies.go", "emergency.go", "read.go", "cues.txt"), in(pack, "topic.txt", "emergencies.txt"),
				in(words, "phrases.go"), in(trainer, "alarms.go"),
				in(labelled, "questions.jsonl", "broad.jsonl", "strangers.jsonl"), in(emergencies, "*.txt", "writers/*.jsonl")),
		},
		{
			name: "letters", files: in(subjectFolder, "english.letters"), learn: learnLetters,
			from: slices.Concat(lines, in(subjectFolder, "letters.go"), in(trainer, "letters.go"), in(labelled, spelled()...)),
		},
	}
}

// in returns the paths of the names in a folder, whose path ends in a slash.
func in(folder string, names ...string) []string {
	var paths []string
	for _, name := range names {
		paths = append(paths, folder+name)
	}
	return paths
}
