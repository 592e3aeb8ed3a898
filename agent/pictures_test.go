package agent_test

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"encoding/json"
	"errors"
	"hash/crc32"
	"image"
	"image/jpeg"
	"image/png"
	"strings"
	"testing"

	"molar/agent"
	"molar/agent/memory"
	"molar/providers"
	"molar/schemas"
)

func picture(t *testing.T, width, height int, media string) []byte {
	t.Helper()
	var b bytes.Buffer
	img := image.NewRGBA(image.Rect(0, 0, width, height))
	err := png.Encode(&b, img)
	if media == "image/jpeg" {
		b.Reset()
		err = jpeg.Encode(&b, img, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// vastPicture returns a black PNG of 1 bit for each pixel. It is written here, because the encoder of
// the standard library looks at each of the pixels, and an image of many takes much of it in memory.
func vastPicture(t *testing.T, width, height int) []byte {
	t.Helper()
	var b, rows bytes.Buffer
	chunk := func(kind string, data []byte) {
		part := append([]byte(kind), data...)
		b.Write(binary.BigEndian.AppendUint32(nil, uint32(len(data))))
		b.Write(part)
		b.Write(binary.BigEndian.AppendUint32(nil, crc32.ChecksumIEEE(part)))
	}
	packed := zlib.NewWriter(&rows)
	row := make([]byte, 1+(width+7)/8) // a row's filter, and its pixels
	for range height {
		if _, err := packed.Write(row); err != nil {
			t.Fatal(err)
		}
	}
	if err := packed.Close(); err != nil {
		t.Fatal(err)
	}
	b.WriteString("\x89PNG\r\n\x1a\n")
	size := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, uint32(width)), uint32(height))
	chunk("IHDR", append(size, 1, 0, 0, 0, 0)) // 1 bit, grey, and the only compression, filter and order but one
	chunk("IDAT", rows.Bytes())
	chunk("IEND", nil)
	return b.Bytes()
}

// A large picture is scaled down before it is stored and shown; a small one, and one that cannot be
// decoded, stay as they are.
func TestRun_largePicture(t *testing.T) {
	for name, tt := range map[string]struct {
		data          []byte
		media         string
		width, height int
	}{
		"wide":             {picture(t, 3136, 400, "image/png"), "image/png", 1568, 200},
		"high":             {picture(t, 100, 3136, "image/jpeg"), "image/jpeg", 50, 1568},
		"small enough":     {picture(t, 1568, 1568, "image/png"), "image/png", 0, 0},
		"no picture":       {[]byte("\x89PNG\r\n\x1a\nxx"), "image/png", 0, 0},
		"very many pixels": {vastPicture(t, 30_000, 3000), "image/png", 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(says("A tooth."))
			turn := ask("What is this?")
			turn.Messages[0].Parts = append(turn.Messages[0].Parts, schemas.FilePart("x.png", tt.media, tt.data))
			b.with(t, schemas.Assistant{}).play(t, turn)
			part := b.model.requests[0].Messages[0].Parts[1]
			media, data, err := schemas.DataOf(part.Text)
			if err != nil || media != tt.media || part.Name != "x.png" {
				t.Fatalf("%s %s, %v", part.Name, media, err)
			}
			if tt.width == 0 {
				if !bytes.Equal(data, tt.data) {
					t.Error("it is changed")
				}
				return
			}
			size, _, err := image.DecodeConfig(bytes.NewReader(data))
			if err != nil || size.Width != tt.width || size.Height != tt.height {
				t.Errorf("%d x %d, %v", size.Width, size.Height, err)
			}
		})
	}
}

// The files of earlier questions are shown again, the newest first within the room; others leave a
// mark. A model that refuses them is asked again without them.
func TestRun_earlierFiles(t *testing.T) {
	small := picture(t, 20, 20, "image/png")
	history := func() *bench {
		b := newBench(says("Seven."))
		b.memory.opening.ServersRead = []string{"file a.png", "file note.txt"}
		b.memory.opening.Messages = []schemas.StoredMessage{
			{Seq: 1, Role: schemas.RoleUser, Content: "What is this?"},
			{Seq: 2, Role: schemas.RoleAssistant, Content: "A tooth."},
			{Seq: 3, Role: schemas.RoleUser, Content: "How many cherries?"},
			{Seq: 4, Role: schemas.RoleAssistant, Content: "Seven."},
		}
		b.memory.stored = []memory.File{
			{File: schemas.File{Seq: 1, N: 0, Name: "a.png", Media: "image/png"}, Data: small},
			{File: schemas.File{Seq: 3, N: 0, Name: "note.txt", Media: "text/plain"}, Data: []byte("Seven cherries.")},
		}
		return b
	}
	shown := func(b *bench, i int) string {
		data, err := json.Marshal(b.model.requests[i].Messages)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	address := schemas.FilePart("a.png", "image/png", small).Text
	b := history()
	b.with(t, schemas.Assistant{}).play(t, ask("And which colour?"))
	if got := shown(b, 0); !strings.Contains(got, address) || !strings.Contains(got, "Seven cherries.") {
		t.Errorf("the files are not shown: %s", got)
	}
	b = history()
	b.limits = agent.Limits{ContextTokens: 10}
	b.with(t, schemas.Assistant{}).play(t, ask("And which colour?"))
	if got := shown(b, 0); strings.Contains(got, address) {
		t.Errorf("a picture is shown without room: %s", got)
	}
	b = history()
	b.model.scripts = append([]script{func(_ providers.Request, yield func(providers.Chunk, error) bool) {
		yield(providers.Chunk{}, &providers.Error{Kind: providers.KindInvalid, Err: errors.New("this model cannot see images")})
	}}, b.model.scripts...)
	if p := b.with(t, schemas.Assistant{}).play(t, ask("And which colour?")); p.err != nil || p.text != "Seven." {
		t.Fatalf("%q, %v", p.text, p.err)
	}
	if got := shown(b, 1); strings.Contains(got, address) || !strings.Contains(got, "[picture a.png, shown earlier]") || !strings.Contains(got, "Seven cherries.") {
		t.Errorf("after a refusal it is shown %s", got)
	}
}

// A client that sends its history has its files shown, and its own calls.
func TestRun_filesOfASentHistory(t *testing.T) {
	small := schemas.FilePart("", "image/png", picture(t, 20, 20, "image/png"))
	b := newBench(says("Blue."))
	turn := withEarlierMessage(ask("And which colour?"), schemas.Part{Kind: schemas.PartText, Text: "What is this?"}, small,
		schemas.Part{Kind: schemas.PartContext, Name: "note.txt", Text: "Seven cherries."})
	b.with(t, schemas.Assistant{}).play(t, turn)
	parts := b.model.requests[0].Messages[0].Parts
	if len(parts) != 3 || parts[2].Text != small.Text || !strings.Contains(parts[1].Text, "Seven cherries.") || !strings.Contains(parts[1].Text, `source="file note.txt"`) {
		t.Errorf("the first question is shown as %+v", parts)
	}
}
