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
// a word, and so does every word of a text of several lines that was pasted: its author is not the
// person who asks. It is for typed questions: one that a script passes on may be anyone's text, and
// has --file.
func (q Question) WithFiles() (Question, error) {
	files, err := files(q.named())
	q.Attached = append(q.Attached, files...)
	return q, err
}

// named returns the files that a question names as @path.
func (q Question) named() (paths []string) {
	typed := q.Prompt
	for _, paste := range q.Pasted {
		if strings.Contains(strings.TrimSpace(paste), "\n") {
			typed = strings.ReplaceAll(typed, paste, " ")
		}
	}
	for word := range strings.FieldsSeq(typed) {
		if path := fileNamed(word); path != "" {
			paths = append(paths, path)
		}
	}
	return paths
}

// typedFiles attaches the files that the argument of a command names, and says so, if a person can have
// typed it: at a terminal, and in one line, unlike the output of another command such as $(cat FILE).
func typedFiles(a *cli.CLI, q Question) (Question, error) {
	var anyones string
	switch {
	case !cli.IsTerminal(a.Stdin) && !cli.IsTerminal(a.Stdout) && !cli.IsTerminal(a.Stderr):
		anyones = "without a terminal the text may be anyone's"
	case strings.Contains(q.Prompt, "\n"):
		anyones = "a text of several lines may be anyone's"
	}
	for _, path := range q.named() {
		if anyones != "" {
			a.Note("%s", terminal.Clean("warning: @"+path+" is not attached: "+anyones+"; name the file with --file "+terminal.Shell(path)))
		} else {
			a.Note("%s", terminal.Clean("attached "+path))
		}
	}
	if anyones != "" {
		return q, nil
	}
	return q.WithFiles()
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
