package agent

import (
	"bytes"
	"context"
	"fmt"
	"image"
	_ "image/gif" // decodes GIF
	"image/jpeg"
	"image/png"
	"slices"
	"strings"

	"golang.org/x/image/draw"
	_ "golang.org/x/image/webp" // decodes WebP

	"molar/providers"
	"molar/schemas"
)

const (
	// maxSide is the largest width and height of a picture that is stored and shown, in pixels:
	// services scale larger ones down.
	maxSide = 1568
	// maxPixels bounds the pictures that are decoded, so that a small file cannot take much memory.
	maxPixels = 64 << 20
	// jpegQuality is that of pictures that were scaled down.
	jpegQuality = 88
	// shownPictures is how many pictures that tools returned a model is shown: the newest.
	shownPictures = 2
)

// fitPicture returns a picture of at most [maxSide] pixels, and its tokens at the turn's provider.
// One that is small enough is unchanged, and so is what cannot be decoded.
func (w *task) fitPicture(p schemas.Part) schemas.Part {
	if p.Kind != schemas.PartImage {
		return p
	}
	_, data, err := schemas.DataOf(p.Text)
	if err != nil {
		return p
	}
	size, format, err := image.DecodeConfig(bytes.NewReader(data))
	if err != nil || size.Width <= 0 || size.Height <= 0 {
		return p
	}
	width, height := size.Width, size.Height
	if max(width, height) > maxSide && width <= maxPixels/height {
		if scaled, media, err := scale(data, format); err == nil {
			name := p.Name
			p = schemas.FilePart(name, media, scaled)
			width, height = fitted(width, height)
		}
	}
	p.Tokens = providers.PictureTokens(w.route.Provider, width, height)
	return p
}

// fitPictures applies fitPicture to the parts of a list.
func (w *task) fitPictures(parts []schemas.Part) []schemas.Part {
	fitted := slices.Clone(parts)
	for i, p := range fitted {
		fitted[i] = w.fitPicture(p)
	}
	return fitted
}

// fitted returns the size of a picture that is scaled down to [maxSide].
func fitted(width, height int) (int, int) {
	longest := max(width, height)
	return max(width*maxSide/longest, 1), max(height*maxSide/longest, 1)
}

// scale returns a picture that is scaled down, as JPEG if it was one, else as PNG.
func scale(data []byte, format string) (scaled []byte, media string, err error) {
	from, _, err := image.Decode(bytes.NewReader(data))
	if err != nil {
		return nil, "", err
	}
	width, height := fitted(from.Bounds().Dx(), from.Bounds().Dy())
	to := image.NewNRGBA(image.Rect(0, 0, width, height))
	draw.ApproxBiLinear.Scale(to, to.Bounds(), from, from.Bounds(), draw.Src, nil)
	var b bytes.Buffer
	if format == "jpeg" {
		err = jpeg.Encode(&b, to, &jpeg.Options{Quality: jpegQuality})
		return b.Bytes(), "image/jpeg", err
	}
	err = png.Encode(&b, to)
	return b.Bytes(), "image/png", err
}

// recallFiles adds the files of the earlier questions to their exchanges: verbatim within the room, the
// newest first, else a mark.
func (a *Agent) recallFiles(ctx context.Context, w *task, past recalled) recalled {
	if !slices.ContainsFunc(past.read, schemas.Origin.IsFile) {
		return past
	}
	files, err := a.cfg.Memory.Files(ctx, w.turn.Owner, w.turn.ConversationID)
	if err != nil {
		a.log.Warn("the files of a conversation cannot be listed", "conversation", w.turn.ConversationID, "error", err)
		return past
	}
	room := a.fileBytes(ctx, w)
	for i, x := range slices.Backward(past.exchanges) {
		var own []schemas.File
		for _, f := range files {
			if x.Seq > 0 && f.Seq == x.Seq {
				own = append(own, f)
			}
		}
		var parts []schemas.Part
		for _, f := range own {
			parts = append(parts, a.readFile(ctx, w, f, room))
		}
		past.exchanges[i].Files, room = a.shownFiles(ctx, w, parts, room)
	}
	return past
}

// sentFiles prepares the files of the earlier questions that a client sent in the same way.
func (a *Agent) sentFiles(ctx context.Context, w *task, exchanges []Exchange) []Exchange {
	room := a.fileBytes(ctx, w)
	for i, x := range slices.Backward(exchanges) {
		exchanges[i].Files, room = a.shownFiles(ctx, w, x.Files, room)
	}
	return exchanges
}

// fileBytes is the room for the files of earlier questions.
func (a *Agent) fileBytes(ctx context.Context, w *task) int {
	tokens := a.cfg.Limits.ContextTokens
	if most := a.maxWindow(ctx, w); most > 0 {
		tokens = min(tokens, most/resultShare)
	}
	return tokens * BytesPerToken
}

// readFile reads a file of a stored question: a mark if it cannot be shown.
func (a *Agent) readFile(ctx context.Context, w *task, f schemas.File, room int) schemas.Part {
	if room <= 0 {
		return mark(f.Name, f.Media)
	}
	read, err := a.cfg.Memory.ReadFile(ctx, w.turn.Owner, w.turn.ConversationID, f.Seq, f.N)
	if err != nil {
		a.log.Warn("a file of a conversation cannot be read", "conversation", w.turn.ConversationID, "file", f.Name, "error", err)
		return mark(f.Name, f.Media)
	}
	if schemas.IsText(f.Media) {
		return schemas.Part{Kind: schemas.PartContext, Name: f.Name, Text: string(read.Data)}
	}
	return schemas.FilePart(f.Name, f.Media, read.Data)
}

// shownFiles returns the files of an earlier question as a model is shown them, texts first, and the
// room that they leave.
func (a *Agent) shownFiles(ctx context.Context, w *task, files []schemas.Part, room int) ([]schemas.Part, int) {
	files, _ = a.readDocuments(ctx, w, files) // the question was warned of
	others, texts := splitFiles(files)
	bytes := a.attachedBytes(ctx, w, len(texts))
	var parts []schemas.Part
	show := func(part, otherwise schemas.Part) {
		if size := textBytes(part); size <= room {
			room -= size
		} else {
			part = otherwise
		}
		parts = append(parts, part)
	}
	for _, f := range texts {
		show(a.textFile(w, f.Name, f.Text, bytes), mark(f.Name, "text"))
	}
	for _, p := range others {
		media, _, _ := strings.Cut(strings.TrimPrefix(p.Text, "data:"), ";")
		show(w.fitPicture(p), mark(p.Name, media))
	}
	return parts, room
}

// textFile returns a text file as it was shown with its question.
func (a *Agent) textFile(w *task, name, text string, bytes int) schemas.Part {
	result := schemas.ToolResult{ID: textID("file", text), ToolName: name, Server: string(file(name)), Output: schemas.TextOutput(text)}
	w.heard.fetched(result)
	return attachedPart(w.results.Hold(result, bytes), false)
}

// mark stands for a file that is not shown any more.
func mark(name, media string) schemas.Part {
	kind := "file"
	switch {
	case strings.HasPrefix(media, "image/"):
		kind = "picture"
	case strings.HasPrefix(media, "audio/"):
		kind = "recording"
	}
	return schemas.Part{Kind: schemas.PartContext, Text: fmt.Sprintf("[%s %s, shown earlier]", kind, oneLine(name))}
}

// withoutPastFiles replaces the files before the question by marks, for a model that refuses them.
func withoutPastFiles(messages []schemas.Message) (bare []schemas.Message, changed bool) {
	at := questionAt(messages)
	bare = slices.Clone(messages)
	for i, m := range bare[:at] {
		bare[i].Parts = slices.Clone(m.Parts)
		for j, p := range m.Parts {
			if p.Kind == schemas.PartImage || p.Kind == schemas.PartFile {
				media, _, _ := schemas.DataOf(p.Text)
				bare[i].Parts[j], changed = mark(p.Name, media), true
			}
		}
	}
	return bare, changed
}

// keptPicture begins the address of a picture that a tool returned in an earlier turn; the id of the
// kept text follows.
const keptPicture = "kept:"

// storedPictures returns rounds as they are stored: the newest pictures are kept beside the
// conversation, and named; all other files of results are left out.
func (w *task) storedPictures(rounds []schemas.Round) []schemas.Round {
	stored := withoutMedia(rounds)
	left := shownPictures
	for i, round := range slices.Backward(rounds) {
		for j, r := range slices.Backward(round.Results) {
			for k, p := range slices.Backward(r.Media) {
				if p.Kind != schemas.PartImage || left == 0 || r.ID == "" {
					continue
				}
				if !strings.HasPrefix(p.Text, keptPicture) {
					id := fmt.Sprintf("%s/%d", r.ID, k)
					w.results.HoldText(schemas.KeptResult{ID: id, Server: r.Server, Text: p.Text})
					p.Text = keptPicture + id
				}
				media := &stored[i].Results[j].Media
				*media = append([]schemas.Part{p}, *media...)
				left--
			}
		}
	}
	return stored
}

// newestPictures keeps the newest pictures that tools returned, in this turn or before, and drops the
// others: their results name them.
func (w *task) newestPictures(ctx context.Context, messages []schemas.Message) []schemas.Message {
	left := shownPictures
	messages = slices.Clone(messages)
	for i, m := range slices.Backward(messages) {
		for j, p := range slices.Backward(m.Parts) {
			if p.Kind != schemas.PartResult || p.Result == nil || len(p.Result.Media) == 0 {
				continue
			}
			var media []schemas.Part
			for _, file := range slices.Backward(p.Result.Media) {
				id, kept := strings.CutPrefix(file.Text, keptPicture)
				if file.Kind == schemas.PartImage && left == 0 || kept && !w.recallPicture(ctx, &file, id) {
					continue
				}
				if file.Kind == schemas.PartImage {
					left--
				}
				media = append([]schemas.Part{file}, media...)
			}
			result := *p.Result
			result.Media = media
			messages[i].Parts = slices.Clone(messages[i].Parts)
			messages[i].Parts[j].Result = &result
		}
	}
	return messages
}

// recallPicture fills in a picture that is kept, and reports whether it is.
func (w *task) recallPicture(ctx context.Context, p *schemas.Part, id string) bool {
	kept, known := w.results.Text(ctx, id)
	p.Text = kept.Text
	return known
}

// fitQuestion scales down the pictures of the question.
func (w *task) fitQuestion() {
	for i, m := range slices.Backward(w.turn.Messages) {
		if m.Role == schemas.RoleUser {
			w.turn.Messages = slices.Clone(w.turn.Messages)
			w.turn.Messages[i].Parts = w.fitPictures(m.Parts)
			break
		}
	}
	w.turn.Attachments = slices.Clone(w.turn.Attachments)
	for i, at := range w.turn.Attachments {
		w.turn.Attachments[i].Media = w.fitPictures(at.Media)
	}
}
