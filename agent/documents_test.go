package agent_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"molar/agent"
	"molar/agent/memory"
	"molar/schemas"
)

// fakeDocuments reads what begins with "text", has no program for zip, and finds all else damaged.
type fakeDocuments struct{}

func (fakeDocuments) Text(_ context.Context, _, media string, data []byte) (string, error) {
	switch text, ok := strings.CutPrefix(string(data), "text "); {
	case media == "application/zip":
		return "", errors.ErrUnsupported
	case ok:
		return "[page 1]\n" + text, nil
	}
	return "", errors.New("it is damaged")
}

// takingModel takes PDF, surely or perhaps.
type takingModel struct {
	*fakeModel
	sure bool
}

func (m takingModel) TakesFile(media string) (takes, sure bool) {
	return media == "application/pdf", m.sure
}

// The texts of all files of one attachment are shown.
func TestRun_documentsOfOneAttachment(t *testing.T) {
	b := newBench(says("answer"))
	b.files = fakeDocuments{}
	turn := ask("What do they say?")
	turn.Attachments = []agent.Attachment{{Name: "two", Text: "[two documents]", Media: []schemas.Part{
		schemas.FilePart("a.docx", "application/x-word", []byte("text Open at eight.")),
		schemas.FilePart("b.docx", "application/x-word", []byte("text Close at nine.")),
	}}}
	b.with(t, schemas.Assistant{})
	if p := b.play(t, turn); p.err != nil {
		t.Fatal(p.err)
	}
	text := ""
	for _, m := range b.model.requests[0].Messages {
		text += m.FullText()
	}
	if want := "[two documents]\n[page 1]\nOpen at eight.\n[page 1]\nClose at nine."; !strings.Contains(text, want) {
		t.Errorf("the text is %q, want %q in it", text, want)
	}
}

// A document whose kind the model's service does not take is shown as its text, as a text file is.
func TestRun_documents(t *testing.T) {
	const word = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
	good, broken := schemas.FilePart("plan.docx", word, []byte("text Call the tool.")), schemas.FilePart("scan.docx", word, []byte("x"))
	pdf, damaged := schemas.FilePart("plan.pdf", "application/pdf", []byte("text Call the tool.")), schemas.FilePart("plan.pdf", "application/pdf", []byte("x"))
	zip := schemas.FilePart("a.zip", "application/zip", []byte("x"))
	for name, tt := range map[string]struct {
		file          schemas.Part
		takes, sure   bool
		shown         string // in the fence of a file; empty if the file itself is sent
		warning       string
		from          string
		terminal, old bool
	}{
		"of Word":                               {file: good, shown: "[page 1]\nCall the tool.", from: "file plan.docx"},
		"of Word at the terminal":               {file: good, terminal: true, shown: "[page 1]\nCall the tool.", from: "file plan.docx"},
		"of an earlier question":                {file: good, old: true, shown: "[page 1]\nCall the tool.", from: "file plan.docx"},
		"that is broken":                        {file: broken, shown: "[This file could not be read: it is damaged]", warning: "the file scan.docx is not read: it is damaged", from: "file scan.docx"},
		"PDF":                                   {file: pdf, shown: "[page 1]\nCall the tool.", from: "file plan.pdf"},
		"PDF that the service takes":            {file: pdf, takes: true, sure: true, from: "file plan.pdf"},
		"PDF that the service may take":         {file: pdf, takes: true, shown: "[page 1]\nCall the tool.", from: "file plan.pdf"},
		"a scan that the service may take":      {file: damaged, takes: true, from: "file plan.pdf"},
		"a kind that nothing reads":             {file: zip, from: "file a.zip"},
		"a broken one of an earlier question":   {file: broken, old: true, shown: "[This file could not be read: it is damaged]", from: "file scan.docx"},
		"PDF of an earlier question, for a one": {file: pdf, old: true, takes: true, sure: true, from: "file plan.pdf"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(says("answer"))
			b.files = fakeDocuments{}
			if tt.takes {
				b.route.Provider = takingModel{b.model, tt.sure}
			}
			turn := ask("What does it say?")
			switch {
			case tt.terminal:
				turn.Attachments = []agent.Attachment{{Name: tt.file.Name, Text: "[a document]", Media: []schemas.Part{tt.file}}}
			case tt.old:
				media, data, err := schemas.DataOf(tt.file.Text)
				if err != nil {
					t.Fatal(err)
				}
				b.memory.opening = schemas.Opening{Known: true, ServersRead: []string{tt.from}, Messages: []schemas.StoredMessage{
					{Seq: 1, Role: schemas.RoleUser, Content: "Look."}, {Seq: 2, Role: schemas.RoleAssistant, Content: "I see."},
				}}
				b.memory.stored = []memory.File{{File: schemas.File{Seq: 1, Name: tt.file.Name, Media: media}, Data: data}}
			default:
				turn.Messages[0].Parts = append(turn.Messages[0].Parts, tt.file)
			}
			b.with(t, schemas.Assistant{})
			p := b.play(t, turn)
			if p.err != nil {
				t.Fatal(p.err)
			}
			if want := []string{tt.warning}; tt.warning == "" && len(p.done.Warnings) > 0 || tt.warning != "" && !slices.Equal(p.done.Warnings, want) {
				t.Errorf("warnings %q, want %q", p.done.Warnings, tt.warning)
			}
			text, sent := "", false
			for _, m := range b.model.requests[len(b.model.requests)-1].Messages {
				text += m.FullText()
				sent = sent || slices.ContainsFunc(m.Parts, func(p schemas.Part) bool { return p.Kind == schemas.PartFile })
			}
			if sent != (tt.shown == "") || !strings.Contains(text, tt.shown) {
				t.Errorf("the file itself is sent: %v; the text is %q", sent, text)
			}
			if read := b.memory.saved[0].ServersRead; !slices.Contains(read, tt.from) {
				t.Errorf("saved as read: %q, want %q", read, tt.from)
			}
			if !tt.old && (len(b.memory.files) != 1 || !strings.Contains(b.memory.files[0], tt.file.Name)) {
				t.Errorf("stored with the conversation: %q", b.memory.files)
			}
		})
	}
}
