package session

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"molar/agent"
	"molar/internal/cli"
	"molar/internal/documents"
	"molar/internal/terminal"
	"molar/schemas"
)

// maxFile is the maximum size of a question's file, in bytes.
const maxFile = 24 << 20

// files reads the files of a question.
func files(paths []string) ([]agent.Attachment, error) {
	var files []agent.Attachment
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			return nil, err
		}
		if info.Size() > maxFile {
			return nil, fmt.Errorf("%s has %d bytes: an attached file may have %d", path, info.Size(), maxFile)
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		file, err := attachment(filepath.Base(path), data)
		if err != nil {
			return nil, err
		}
		files = append(files, file)
	}
	return files, nil
}

// attachment returns a file of a question: text, a document, or a format that models read as is.
func attachment(name string, data []byte) (agent.Attachment, error) {
	media := schemas.MediaOf(name, data)
	group, _, _ := strings.Cut(media, "/")
	switch {
	case group == "image", group == "audio", group == "video", media == "application/pdf", documents.IsDocument(name) && !utf8.Valid(data):
		note := fmt.Sprintf("[%s, %d bytes]", media, len(data))
		return agent.Attachment{Name: name, Text: note, Media: []schemas.Part{schemas.FilePart(name, media, data)}}, nil
	case utf8.Valid(data):
		return agent.Attachment{Name: name, Text: string(data)}, nil
	case schemas.IsText(media):
		return agent.Attachment{Name: name, Text: strings.ToValidUTF8(string(data), "\uFFFD")}, nil
	}
	return agent.Attachment{}, fmt.Errorf("%s is %s: models take text, images, sounds and documents", name, media)
}

// WithFiles attaches the files that a question names as @path. A word that names no file stays
// a word. It is for typed questions: one that a script passes on may be anyone's text, and has
// --file.
func (q Question) WithFiles() (Question, error) {
	files, err := files(q.named())
	q.Attached = append(q.Attached, files...)
	return q, err
}

// named returns the files that a question names as @path.
func (q Question) named() (paths []string) {
	for word := range strings.FieldsSeq(q.Prompt) {
		if path := fileNamed(word); path != "" {
			paths = append(paths, path)
		}
	}
	return paths
}

// typedFiles attaches the files that the argument of a command names, if a person can have typed it.
func typedFiles(a *cli.CLI, q Question) (Question, error) {
	if cli.IsTerminal(a.Stdin) || cli.IsTerminal(a.Stdout) || cli.IsTerminal(a.Stderr) {
		return q.WithFiles()
	}
	for _, path := range q.named() {
		a.Note("%s", terminal.Clean("warning: @"+path+" is not attached: without a terminal the text may be anyone's; name the file with --file "+terminal.Shell(path)))
	}
	return q, nil
}

// fileNamed returns the file that a word names, without trailing punctuation; empty if there is
// none.
func fileNamed(word string) string {
	path, ok := strings.CutPrefix(word, "@")
	for _, path := range []string{path, strings.TrimRight(path, ".,;:!?)")} {
		if info, err := os.Stat(path); ok && err == nil && info.Mode().IsRegular() {
			return path
		}
	}
	return ""
}
