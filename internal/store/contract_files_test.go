package store_test

import (
	"bytes"
	"testing"

	"molar/internal/store"
	"molar/schemas"
)

// putFile keeps a file in parts of three bytes beside the question of a turn.
func (f *fixture) putFile(t *testing.T, l schemas.Lease, turnID string, n int, text string, most int64) error {
	t.Helper()
	file := schemas.File{N: n, Name: "f.txt", Media: "text/plain", Size: int64(len(text))}
	for part := 0; ; part++ {
		data := text[min(3*part, len(text)):min(3*part+3, len(text))]
		last := 3*part+3 >= len(text)
		if err := f.PutFile(t.Context(), l, turnID, file, schemas.FileChunk{Part: part, Data: []byte(data), Last: last}, most); err != nil || last {
			return err
		}
	}
}

// fileTexts are the files of the conversation c, each whole.
func (f *fixture) fileTexts(t *testing.T, owner string) []string {
	t.Helper()
	list, err := f.ListFiles(t.Context(), owner, "c")
	if err != nil {
		t.Fatal(err)
	}
	texts := []string{}
	for _, file := range list {
		var text bytes.Buffer
		for part, last := 0, false; !last; part++ {
			read, c, err := f.ReadFile(t.Context(), owner, "c", file.Seq, file.N, part)
			if err != nil {
				t.Fatal(err)
			}
			same(t, read, file)
			text.Write(c.Data)
			last = c.Last
		}
		texts = append(texts, text.String())
	}
	return texts
}

// Files are kept with the question of a saved turn, in parts, within a bound, for their
// owner, and go with the turn or the conversation.
func testFiles(t *testing.T, f *fixture) {
	ctx := t.Context()
	lease := f.begin(t, "ann", "c", "").Lease
	refused(t, f.putFile(t, lease, "t1", 0, "early", 100), store.ErrConflict)
	f.save(t, lease, "t1", "", "done")
	for _, text := range []string{"first", "again"} { // the answer to the first request was lost
		if err := f.putFile(t, lease, "t1", 0, text, 100); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.putFile(t, lease, "t1", 1, "", 100); err != nil { // an empty one is one too
		t.Fatal(err)
	}
	refused(t, f.putFile(t, lease, "t1", 2, "too long", 12), store.ErrTooMuch)
	short := schemas.File{N: 3, Name: "cut", Size: 9}
	refused(t, f.PutFile(ctx, lease, "t1", short, schemas.FileChunk{Data: []byte("cut"), Last: true}, 100), store.ErrInvalid)
	if err := f.PutFile(ctx, lease, "t1", short, schemas.FileChunk{Data: []byte("cut")}, 100); err != nil {
		t.Fatal(err) // it never comes to its end, and is not listed
	}
	same(t, f.fileTexts(t, "ann"), []string{"again", ""})
	same(t, f.fileTexts(t, ""), []string{"again", ""})
	same(t, f.fileTexts(t, "bob"), []string{})
	_, _, err := f.ReadFile(ctx, "bob", "c", 1, 0, 0)
	refused(t, err, store.ErrNoFile)
	other := lease
	other.ConversationID = "another"
	refused(t, f.putFile(t, other, "t1", 4, "elsewhere", 100), store.ErrConflict)

	next := f.begin(t, "ann", "c", "").Lease
	f.save(t, next, "t2", "", "done")
	if err := f.putFile(t, next, "t2", 0, "deleted", 100); err != nil {
		t.Fatal(err)
	}
	same(t, f.fileTexts(t, "ann"), []string{"again", "", "deleted"})
	f.remove(t, "c", "t2")
	same(t, f.fileTexts(t, "ann"), []string{"again", ""})
	if err := f.Clear(ctx, "ann", "c"); err != nil {
		t.Fatal(err)
	}
	same(t, f.fileTexts(t, "ann"), []string{})
}
