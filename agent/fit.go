package agent

import (
	"cmp"
	"slices"
	"strings"
	"sync"

	"molar/schemas"
)

// An Input is a conversation and the room for it.
type Input struct {
	// Summary replaces all before Exchanges, as the last compaction wrote it.
	Summary string
	// Exchanges are the ones after the summary, oldest first.
	Exchanges []Exchange
	// Budget is how many bytes the verbatim exchanges may take; Last, if it is more, is how many the
	// last one may take alone.
	Budget, Last int
	// MaxExchanges limits the verbatim exchanges; 0 means no limit.
	MaxExchanges int
	// ResultBytes bounds each tool result; 0 means no limit.
	ResultBytes int
}

// A View is the part of the conversation that the model is shown.
type View struct {
	Summary   string
	Exchanges []Exchange
	Messages  []schemas.Message
	// Compacted is set when this view moved exchanges into the summary; Covers is then the sequence
	// number of the last message in the summary.
	Compacted bool
	Covers    int64
}

// Fit returns the view of a conversation. Within the budget it is the previous view plus the new
// exchanges. The last exchange always stays: its results are cut first, then its answer.
func Fit(in Input) View {
	v := View{Summary: in.Summary, Exchanges: in.Exchanges}
	sizes, bare := measure(in)
	keep, stripped := in.keep(sizes, bare)
	in.Exchanges = slices.Clone(in.Exchanges)
	for i := range stripped {
		in.Exchanges[i].Bare = true
	}
	v.Exchanges = in.Exchanges
	if moved := in.Exchanges[:len(in.Exchanges)-keep]; len(moved) > 0 {
		v.Summary = bound(summarise(in.Summary, moved), in.Budget/summaryShare)
		v.Exchanges = in.Exchanges[len(moved):]
		v.Compacted, v.Covers = true, moved[len(moved)-1].Last
	}
	if most := max(in.Budget, in.Last); keep == 1 && Size(v.Exchanges[0].Messages(in.ResultBytes)) > most {
		v.Messages = squeeze(v.Exchanges, most)
	} else {
		v.Messages = render(v.Exchanges, in.ResultBytes)
	}
	return v
}

// bareSize returns the bytes of the exchanges without their passages: these are the first that a
// compaction leaves out.
func (v View) bareSize() int {
	size := Size(v.Messages)
	for _, x := range v.Exchanges {
		if !x.Bare {
			for _, text := range x.passages() {
				size -= len(text)
			}
		}
	}
	return size
}

// summaryShare divides the budget: the summary may take a half, in addition to the verbatim
// exchanges.
const summaryShare = 2

// keep returns how many of the newest exchanges are shown verbatim, and up to which one they are bare.
// It replays the conversation. When the budget is passed, the passages before the questions go first; then
// a compaction keeps as many exchanges as fit into half of the budget, and at least the last one. So a
// client that sends its history gets the same view in each turn, and one more exchange, until the next
// compaction.
func (in Input) keep(sizes, bare []int) (keep, stripped int) {
	first, total := 0, 0
	for i, size := range sizes {
		total += size
		count := i + 1 - first
		if total <= in.Budget && (in.MaxExchanges == 0 || count <= in.MaxExchanges) || count == 1 && total <= in.Last {
			continue
		}
		for stripped = max(stripped, first); stripped <= i; stripped++ {
			total -= sizes[stripped] - bare[stripped]
		}
		for first < i && (total > in.Budget/2 || in.MaxExchanges > 0 && i+1-first > (in.MaxExchanges+1)/2) {
			total -= bare[first]
			first++
		}
	}
	return len(sizes) - first, stripped
}

// measure returns the sizes of the exchanges, with and without their passages.
func measure(in Input) (sizes, bare []int) {
	sizes, bare = make([]int, len(in.Exchanges)), make([]int, len(in.Exchanges))
	for i, x := range in.Exchanges {
		sizes[i] = Size(x.Messages(in.ResultBytes))
		bare[i] = sizes[i]
		for _, text := range x.passages() {
			bare[i] -= len(text)
		}
	}
	return sizes, bare
}

// Size estimates the bytes of messages in a prompt.
func Size(messages []schemas.Message) int {
	const frame, call = 16, 64 // of a message: role, marks; of a call or its result also names, ids and braces
	n := 0
	for _, m := range messages {
		n += frame
		for _, p := range m.Parts {
			n += textBytes(p)
			if p.Result != nil {
				n += call
				for _, m := range p.Result.Media {
					n += textBytes(m)
				}
			}
			if p.Call != nil {
				n += len(p.Call.Function.Name) + len(p.Call.Function.Arguments) + call
			}
		}
	}
	return n
}

// fileBytes is the size of an image or another file: models take about as many tokens for a picture
// as for a page of text.
const fileBytes = 4500

func textBytes(p schemas.Part) int {
	if p.Kind == schemas.PartImage || p.Kind == schemas.PartFile {
		return cmp.Or(p.Tokens*BytesPerToken, fileBytes)
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
	const least = 256 // the fewest useful bytes of a result
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

// cutTexts cuts the texts of messages to an equal share of the budget each. Parts with a provider's
// private state stay whole: the provider rejects changed ones.
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

// summarise appends the moved exchanges to the summary: each by its piece, or its digest. A
// condensed text replaces all before it.
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

// bound cuts a summary to its share: each paragraph keeps its beginning, so that no exchange
// vanishes; if that is not enough, the oldest go.
func bound(summary string, most int) string {
	if len(summary) <= most {
		return summary
	}
	paragraphs := strings.Split(summary, "\n\n")
	const least = 80 // the fewest bytes that show what an exchange was about
	share := max(most/len(paragraphs)-len("\n\n …"), least)
	for i, p := range paragraphs {
		paragraphs[i] = clip(p, share)
	}
	for len(paragraphs) > 1 && len(strings.Join(paragraphs, "\n\n")) > most {
		paragraphs = paragraphs[1:]
	}
	return strings.Join(paragraphs, "\n\n")
}

// BytesPerToken is the size of a token of ordinary text, until [Scale] has learned it.
const BytesPerToken = 4

// A Scale learns the bytes per token of each model from the usage that providers report. The zero
// value is ready, and safe for concurrent use.
type Scale struct {
	mu    sync.Mutex
	bytes map[string]float64
}

// BytesOf returns the bytes per token of the model.
func (s *Scale) BytesOf(model string) float64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if b, ok := s.bytes[model]; ok {
		return b
	}
	return BytesPerToken
}

// Learn adds one prompt's size. It skips short prompts, where the message marks outweigh the text.
func (s *Scale) Learn(model string, bytes, tokens int) {
	const least, weight = 200, 0.2
	if tokens < least {
		return
	}
	ratio := min(max(float64(bytes)/float64(tokens), 1), 8)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.bytes == nil {
		s.bytes = make(map[string]float64)
	}
	if old, ok := s.bytes[model]; ok {
		ratio = old + weight*(ratio-old)
	}
	s.bytes[model] = ratio
}
