package _test

import (
	"bytes"
	"encoding/base64"
	"image"
	"image/png"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"molar/agent"
	"molar/internal/testkit/npm"
	"molar/mcpclients"
	"molar/mcpclients/transport"
	"molar/schemas"
)

// catalogue are the tools of real servers.
type catalogue struct{ *mcpclients.Manager }

func (c catalogue) Tools() []schemas.Tool { return c.Catalogue().Tools() }

// noise returns a picture of more than a megabyte.
func noise(t *testing.T) []byte {
	t.Helper()
	picture := image.NewNRGBA(image.Rect(0, 0, 600, 600))
	for i := range picture.Pix {
		picture.Pix[i] = byte(rand.Uint32())
	}
	var b bytes.Buffer
	must(t, png.Encode(&b, picture))
	if b.Len() < 1<<20 {
		t.Fatalf("the picture has %d bytes", b.Len())
	}
	return b.Bytes()
}

// A picture of more than a megabyte that a real server reads from a file is sent to the model
// whole, once, and is not part of any text. Later turns show it too, and of several the two newest.
func TestWire_pictureOfARealServer(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a server under node")
	}
	script := npm.Installed(t, "npm", "node_modules", "@modelcontextprotocol", "server-filesystem", "dist", "index.js")
	folder := t.TempDir()
	picture := noise(t)
	must(t, os.WriteFile(filepath.Join(folder, "xray.png"), picture, 0o600))
	manager, err := mcpclients.New(mcpclients.Config{Servers: []transport.ServerConfig{{Name: "files", Command: "node", Args: []string{script, folder}, Marks: schemas.ServerMarks{Closed: true}}}})
	must(t, err)
	manager.Start(t.Context())
	t.Cleanup(func() { must(t, manager.Close()) })
	must(t, manager.Wait(t.Context(), nil))
	encoded := base64.StdEncoding.EncodeToString(picture)
	args := `{"path":` + quote(filepath.Join(folder, "xray.png")) + `}`
	onEachWire(t, func(t *testing.T, w wire) {
		c := newTalk(t, w, catalogue{manager}, agent.Limits{})
		sent := c.ask(t, "What does xray.png show?", calls("files__read_media_file", args), says("A molar."))
		if len(sent) != 2 || strings.Count(sent[1], encoded) != 1 {
			t.Fatalf("%d requests; the second holds the picture %d times", len(sent), strings.Count(sent[len(sent)-1], encoded))
		}
		place := map[string]string{
			"openai":    `{"type":"image_url","image_url":{"url":"data:image/png;base64,` + encoded + `"}}`,
			"responses": `{"type":"input_image","image_url":"data:image/png;base64,` + encoded + `"}`,
			"gemini":    `"parts":[{"inlineData":{"data":"` + encoded + `","mimeType":"image/png"}}]`,
			"ollama":    `"images":["` + encoded + `"]`,
			"anthropic": `{"type":"image","source":{"type":"base64","media_type":"image/png","data":"` + encoded + `"}`,
		}[w.name]
		rest := strings.Replace(sent[1], place, "", 1)
		if len(sent[1])-len(rest) != len(place) || !strings.Contains(rest, "image/png") {
			t.Errorf("the picture is not where it belongs; beside it stands %.3000s", strings.ReplaceAll(rest, encoded, "…"))
		}
		next := c.ask(t, "Which one?", says("The third."))
		if strings.Count(next[0], encoded) != 1 || !strings.Contains(next[0], place) {
			t.Errorf("the next turn holds the picture %d times", strings.Count(next[0], encoded))
		}
		c.restart(t)
		again := c.ask(t, "And now two more.", calls("files__read_media_file", args), calls("files__read_media_file", args+" "), says("The same."))
		if n := strings.Count(again[len(again)-1], encoded); n != 2 {
			t.Errorf("of several pictures of tools %d are shown", n)
		}
	})
}
