package agent

import (
	"strings"
	"sync"

	"molar/schemas"
)

// An Input is a conversation and the room that there is for it.
type Input struct {
	// Summary stands for all that came before Exchanges, as the last compaction wrote
	// it.
	Summary string
	// Exchanges are what came after that, oldest first.
	Exchanges []Exchange
	// Budget is how many bytes the verbatim exchanges may take.
	Budget int
	// MaxExchanges is the most that are shown verbatim; 0 means any number.
	MaxExchanges int
	// ResultBytes bounds each tool result; 0 means no limit.
	ResultBytes int
}

// A View is what the model is shown.
type View struct {
	Summary   string
	Exchanges []Exchange
	Messages  []schemas.Message
	// Compacted is set when this view moved exchanges behind the summary; Covers is
	// then the sequence number of the last message that the summary stands for.
	Compacted bool
	Covers    int64
}

// Fit returns the view of a conversation. Unless the budget is passed, it is what it
// was before, and what came since. The last exchange stays whatever its size: its
// results are cut first, then its answer.
func Fit(in Input) View {
	v := View{Summary: in.Summary, Exchanges: in.Exchanges}
	sizes, total := measure(in)
	if total <= in.Budget && (in.MaxExchanges == 0 || len(in.Exchanges) <= in.MaxExchanges) {
		v.Messages = render(in.Exchanges, in.ResultBytes)
		return v
	}
	keep := in.keep(sizes, total)
	if moved := in.Exchanges[:len(in.Exchanges)-keep]; len(moved) > 0 {
		v.Summary = bound(summarise(in.Summary, moved), in.Budget/summaryShare)
		v.Exchanges = in.Exchanges[len(moved):]
		v.Compacted, v.Covers = true, moved[len(moved)-1].Last
	}
	v.Messages = render(v.Exchanges, in.ResultBytes)
	if sum(sizes[len(sizes)-keep:]) > in.Budget {
		v.Messages = squeeze(v.Exchanges, in.Budget)
	}
	return v
}

// summaryShare is the part of the budget that the summary may take beside the verbatim
// exchanges: a half.
const summaryShare = 2

// keep returns how many of the newest exchanges a compaction leaves: as many as fit
// into half of the room, and at least one.
func (in Input) keep(sizes []int, total int) int {
	keep := len(sizes)
	for keep > 1 && (total > in.Budget/2 || in.MaxExchanges > 0 && keep > (in.MaxExchanges+1)/2) {
		total -= sizes[len(sizes)-keep]
		keep--
	}
	return keep
}

func measure(in Input) (sizes []int, total int) {
	sizes = make([]int, len(in.Exchanges))
	for i, x := range in.Exchanges {
		sizes[i] = Size(x.Messages(in.ResultBytes))
		total += sizes[i]
	}
	return sizes, total
}

func sum(sizes []int) int {
	total := 0
	for _, s := range sizes {
		total += s
	}
	return total
}

// Size is about how many bytes messages take in a prompt.
func Size(messages []schemas.Message) int {
	const frame = 16 // of one message: role, marks
	n := 0
	for _, m := range messages {
		n += frame
		for _, p := range m.Parts {
			n += textBytes(p)
			if p.Result != nil {
				n += fileBytes * len(p.Result.Media)
			}
			if p.Call != nil {
				n += len(p.Call.Function.Name) + len(p.Call.Function.Arguments) + frame
			}
		}
	}
	return n
}

// fileBytes is what an image or another file counts for: models take as many tokens for a
// picture as for about a page of text.
const fileBytes = 4500

func textBytes(p schemas.Part) int {
	if p.Kind == schemas.PartImage || p.Kind == schemas.PartFile {
		return fileBytes
	}
	return len(p.Text)
}

func render(exchanges []Exchange, resultBytes int) []schemas.Message {
	var messages []schemas.Message
	for _, x := range exchanges {
		messages = append(messages, x.Messages(resultBytes)...)
	}
	return messages
}

// squeeze renders exchanges that do not fit: results are cut shorter and shorter, then
// all other texts.
func squeeze(exchanges []Exchange, budget int) []schemas.Message {
	const least = 256 // bytes of a result that still tell something
	most := max(budget, least)
	messages := render(exchanges, most)
	for Size(messages) > budget && most > least {
		most /= 2
		messages = render(exchanges, max(most, least))
	}
	if over := Size(messages) - budget; over > 0 {
		return cutTexts(messages, budget)
	}
	return messages
}

// cutTexts cuts the texts of messages to an equal share of the budget each. Parts with
// a provider's private state stay whole: they are refused otherwise.
func cutTexts(messages []schemas.Message, budget int) []schemas.Message {
	share := max(budget/max(len(messages), 1), 64)
	cut := make([]schemas.Message, len(messages))
	for i, m := range messages {
		cut[i] = schemas.Message{Role: m.Role}
		for _, p := range m.Parts {
			if p.State == nil {
				p.Text = clip(p.Text, share)
			}
			cut[i].Parts = append(cut[i].Parts, p)
		}
	}
	return cut
}

// summarise puts the moved exchanges behind the summary so far: each by its piece, or
// by what code keeps of it. A condensed text takes the place of all before it.
func summarise(before string, moved []Exchange) string {
	texts := []string{before}
	for _, x := range moved {
		switch {
		case x.Condensed != "":
			texts = []string{x.Condensed}
		case x.Piece != "":
			texts = append(texts, x.Piece)
		default:
			texts = append(texts, x.digest())
		}
	}
	var kept []string
	for _, t := range texts {
		if t = strings.TrimSpace(t); t != "" {
			kept = append(kept, t)
		}
	}
	return strings.Join(kept, "\n\n")
}

// bound keeps a summary within its share: of each paragraph the beginning stays, so
// that no exchange vanishes, and if that is not enough the oldest go.
func bound(summary string, most int) string {
	if len(summary) <= most {
		return summary
	}
	paragraphs := strings.Split(summary, "\n\n")
	const least = 80 // bytes that still tell what an exchange was about
	share := max(most/len(paragraphs)-len("\n\n …"), least)
	for i, p := range paragraphs {
		paragraphs[i] = clip(p, share)
	}
	for len(paragraphs) > 1 && len(strings.Join(paragraphs, "\n\n")) > most {
		paragraphs = paragraphs[1:]
	}
	return strings.Join(paragraphs, "\n\n")
}

// BytesPerToken is what a token of ordinary text takes, before a model has told more.
const BytesPerToken = 4

// A Scale learns how many bytes a token of each model takes, by the usage that
// providers report. The zero value is ready, and safe for concurrent use.
type Scale struct {
	mu    sync.Mutex
	bytes map[string]float64
}

// BytesOf is how many bytes a token of the model takes.
func (s *Scale) BytesOf(model string) float64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if b, ok := s.bytes[model]; ok {
		return b
	}
	return BytesPerToken
}

// Learn takes one prompt's size in. A prompt of a few words says more about the marks
// around them than about text.
func (s *Scale) Learn(model string, bytes, tokens int) {
	const least, weight = 200, 0.2
	if tokens < least {
		return
	}
	seen := min(max(float64(bytes)/float64(tokens), 1), 8)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.bytes == nil {
		s.bytes = make(map[string]float64)
	}
	if old, ok := s.bytes[model]; ok {
		seen = old + weight*(seen-old)
	}
	s.bytes[model] = seen
}
