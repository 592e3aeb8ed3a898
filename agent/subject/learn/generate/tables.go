package main

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"molar/agent/subject/learn"
)

// A table is the result of one training run. The topic depends on the other two, which are part of the
// program that learns it. Paths are relative to
// the root of the module.
type table struct {
	name string
	// files are the files that make writes.
	files []string
	// from are the patterns of the files that the table depends on: training lines, word lists, and
	// the code that trains.
	from []string
	// make learns the table below the root, and writes its files.
	make func(ctx context.Context, root string) error
}

const (
	subjectFolder, learnFolder, words = "agent/subject/", "agent/subject/learn/", "internal/text/"
	pack, general                     = "topics/dental/", "topics/general/"
)

// topicTable is the name of the tables of the dental pack.
const topicTable = "topic"

func tables() []table {
	lines := slices.Concat(in(subjectFolder, "sections.go", "topic.go"), in(learnFolder, "lines.go"))
	fitting := slices.Concat(lines, in(subjectFolder, "features.go", "table.go"), in(learnFolder, "fit.go"), in(words, "alike.go", "fold.go", "words.go"))
	guarding := slices.Concat(fitting, in(subjectFolder, "model.go", "normalise.go", "reading.go"))
	return []table{
		{
			name: "talk", files: in(subjectFolder, "words/conversation.weights"),
			from: slices.Concat(guarding, in(subjectFolder, "talk.go"), in(learnFolder, "talk.go"), in(general, "conversation.jsonl", "others.jsonl"), in(pack, spoken()...)),
			make: writes(subjectFolder+"words/conversation.weights", learnTalk),
		},
		{
			name: "letters", files: in(subjectFolder, "english.letters"),
			from: slices.Concat(lines, in(subjectFolder, "letters.go"), in(learnFolder, "letters.go"), in(general, "others.jsonl"), in(pack, spelled()...)),
			make: writes(subjectFolder+"english.letters", learnLetters),
		},
		{
			name: topicTable, files: in(pack, "learned/messages", "learned/emergencies", "card.json"),
			from: slices.Concat(guarding, in(subjectFolder, "*.go", "*.txt", "words/*", "english.letters", "scoring/*.go"), in(learnFolder, "*.go"), in(words, "*.go"),
				in(pack, "*.txt", "lines/*.txt", "guide/*/*.md", "lines/emergencies/*.jsonl", "lines/emergencies/*/*.jsonl"), in(general, "*.jsonl", "*.txt"), in(pack, "lines/*.jsonl")),
			make: learnTopic,
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

// spoken are the files of the dental lines that conversations are learned from, beside the general
// ones: writers of single lines have little to do with conversations.
func spoken() []string { return in("lines/", "known.jsonl", "broad.jsonl", "questions.jsonl") }

func learnTalk(root string) ([]byte, error) {
	lines, err := learn.ReadFiles(os.DirFS(filepath.Join(root, pack)), spoken()...)
	if err != nil {
		return nil, err
	}
	files := os.DirFS(filepath.Join(root, general))
	others, err := learn.ReadFiles(files, "others.jsonl")
	if err != nil {
		return nil, err
	}
	return learn.Talk(files, append(lines, others...))
}

// spelled are the files of dental lines, as lines of English.
func spelled() []string { return in("lines/", "*.jsonl") }

func learnLetters(root string) ([]byte, error) {
	module := os.DirFS(filepath.Join(root, pack))
	names, err := fs.Glob(module, spelled()[0])
	if err != nil {
		return nil, err
	}
	lines, err := learn.ReadFiles(module, names...)
	if err != nil {
		return nil, err
	}
	others, err := learn.ReadFiles(os.DirFS(filepath.Join(root, general)), "others.jsonl")
	if err != nil {
		return nil, err
	}
	return learn.Letters(append(lines, others...)), nil
}

func learnTopic(ctx context.Context, root string) error {
	_, err := learn.Train(ctx, learn.Config{Dir: filepath.Join(root, pack), Name: "dental", General: os.DirFS(filepath.Join(root, general))})
	return err
}
