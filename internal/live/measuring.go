package live

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"time"

	"molar/agent/subject"
	"molar/providers"
)

// What a person who waits for an answer finds slow.
const (
	slowFirst = 8 * time.Second
	slowRate  = 8 // tokens a second: about as fast as people read
)

// bytesPerToken is a guess until a service has counted a prompt. A tokenizer of bytes has one, and the
// fillers no more than maxPerToken: a service that counts less counts something else.
const bytesPerToken, maxPerToken = 4, 6

func measureSpeed(ctx context.Context, m *model) (outcome, error) {
	r, err := m.say(ctx, ask(subject.English, "Write the numbers from one to eighty in English words, with commas between them, and nothing else.", nil))
	if err != nil {
		return outcome{}, err
	}
	tokens := r.usage.CompletionTokens
	if tokens == 0 {
		tokens = len(r.text()) / bytesPerToken
	}
	o := outcome{level: OK, seen: fmt.Sprintf("first output after %s", short(r.first))}
	slow := r.first > slowFirst
	// A gateway that sends the whole answer at once shows no rate.
	if streamed := r.whole - r.first; streamed > max(r.whole/10, 50*time.Millisecond) && tokens > 20 {
		rate := float64(tokens) / streamed.Seconds()
		o.seen += fmt.Sprintf(", %.0f tokens/s", rate)
		slow = slow || rate < slowRate
	}
	if slow {
		o.level, o.verdict = Weak, "slow: people wait for it"
	}
	return o, nil
}

func short(d time.Duration) string {
	if d < time.Second {
		return d.Round(time.Millisecond).String()
	}
	return d.Round(100 * time.Millisecond).String()
}

// cachedHead is the size of the text that two prompts share, in tokens: services cache from 1,024 on.
const cachedHead = 2000

func caches(ctx context.Context, m *model) (outcome, error) {
	head := "Mark " + rand.Text() + ".\n" + filler(cachedHead*bytesPerToken)
	ask := func(question string) (*reply, error) {
		req := ask(subject.English, question, nil)
		req.System += "\n\n" + head
		return m.say(ctx, req)
	}
	first, err := ask("Answer with the word one.")
	if err != nil {
		return outcome{}, err
	}
	second, err := ask("Answer with the word two.")
	if err != nil {
		return outcome{}, err
	}
	cached, faster := second.usage.CachedTokens, fmt.Sprintf("first output after %s, then %s", short(first.first), short(second.first))
	switch {
	case cached > 0:
		return outcome{level: OK, seen: fmt.Sprintf("%d of %d tokens; %s", cached, second.usage.PromptTokens, faster)}, nil
	case first.first > 200*time.Millisecond && second.first < first.first*6/10:
		return outcome{level: OK, seen: faster}, nil
	case first.first <= 200*time.Millisecond:
		return outcome{level: OK, seen: "too fast to tell: " + faster}, nil
	}
	return outcome{level: Weak, seen: "none seen: " + faster, verdict: "no prompt cache: each round of a turn reads the whole prompt again"}, nil
}

// filler returns sentences of about so many bytes, each one different.
func filler(bytes int) string {
	things := []string{"brick", "lamp", "chair", "bottle", "ladder", "carpet", "basket"}
	places := []string{"cellar", "garden", "kitchen", "attic", "garage", "hall", "yard", "office", "shed"}
	var b strings.Builder
	for i := 0; b.Len() < bytes; i++ {
		fmt.Fprintf(&b, "Entry %d: the %s in the %s was counted and moved to the other side.\n", i+1, things[i%len(things)], places[i%len(places)])
	}
	return b.String()
}

// The needle is at the start of the text, where a cut prompt loses it first.
const needle, needleCode = "The code of the archive is %s.\n", "83417"

// answerRoom is what a window must have beside the prompt, in tokens.
const answerRoom = 1024

// sizes returns the sizes of the prompts, in tokens: doubling up to most, and to the window.
func sizes(window, most int) []int {
	if window > 0 {
		most = min(most, window-answerRoom)
	}
	var list []int
	for n := 2 << 10; n <= most; n *= 2 {
		list = append(list, n)
	}
	if len(list) == 0 || window > 0 && most > list[len(list)-1]*5/4 {
		list = append(list, max(most, minPrompt))
	}
	return list
}

// reading returns the check of how long a prompt the model can read.
func reading(c Config) check {
	run := func(ctx context.Context, m *model) (outcome, error) {
		route, err := m.route(ctx)
		if err != nil {
			return outcome{}, err
		}
		window := providers.MaxWindow(ctx, route.Provider, route.Model)
		known := "window unknown"
		if window > 0 {
			known = "window " + thousand(window)
		}
		reader := haystack{model: m, perToken: bytesPerToken}
		read := 0
		for _, size := range sizes(window, c.MaxPrompt) {
			why, err := reader.finds(ctx, size)
			switch {
			case err != nil && read > 0 && errors.Is(ctx.Err(), context.DeadlineExceeded):
				return outcome{level: Weak, seen: "no answer in time at " + thousand(size), verdict: "too slow for prompts of " + thousand(size)}, nil
			case err != nil:
				return outcome{}, err
			}
			if why != "" {
				return lost(c, size, cmp.Or(reader.window, read), why+" ("+known+")"), nil
			}
			read = size
		}
		return outcome{level: OK, seen: "reads " + thousand(read) + " (" + known + ")"}, nil
	}
	total := 0
	list := sizes(0, c.MaxPrompt)
	for _, n := range list {
		total += n
	}
	return check{name: "long prompts", calls: len(list), tokens: total, run: run}
}

// lost is the outcome of a prompt that the model could not read. good is a window that it can; 0 means
// none.
func lost(c Config, size, good int, why string) outcome {
	o := outcome{level: Weak, seen: why, verdict: "loses the thread at " + thousand(size)}
	if good == 0 {
		o.level = Fails
	} else if c.WindowKey != "" {
		o.set = fmt.Sprintf("%s.%s: %d", c.Section, c.WindowKey, good)
	}
	return o
}

// thousand writes a number of tokens.
func thousand(n int) string {
	if n < 1<<10 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%dk", (n+512)>>10)
}

// A haystack asks for the needle in texts of growing size. perToken is how many bytes a token of
// theirs has, as counted by the service. window is the one that a refusal named.
type haystack struct {
	model    *model
	perToken float64
	window   int
}

// finds returns why the model did not find the needle in a text of so many tokens; empty if it did.
// It gets two tries.
func (h *haystack) finds(ctx context.Context, size int) (why string, err error) {
	for range again {
		why, err = h.try(ctx, size)
		if why == "" || err != nil {
			return why, err
		}
	}
	return why, nil
}

func (h *haystack) try(ctx context.Context, size int) (why string, err error) {
	bytes := int(float64(size) * h.perToken)
	text := "Mark " + rand.Text() + ".\n" + fmt.Sprintf(needle, needleCode) + filler(bytes) + "\nWhat is the code of the archive? Answer with the number alone."
	r, err := h.model.say(ctx, ask(subject.English, text, nil))
	fault, _ := errors.AsType[*providers.Error](err)
	switch {
	case fault != nil && fault.Kind == providers.KindContextLength:
		h.window = fault.Window
		return thousand(size) + " is refused as too long", nil
	case err != nil:
		return "", err
	}
	counted := r.usage.PromptTokens
	if strings.Contains(digits(r.text()), needleCode) {
		if counted > 0 {
			h.perToken = min(max(float64(len(text))/float64(counted), 1), maxPerToken)
		}
		return "", nil
	}
	if counted > 0 && counted < size*6/10 {
		return fmt.Sprintf("%s of text were cut to %d tokens", thousand(size), counted), nil
	}
	return "at " + thousand(size) + " it said " + quote(r.text()), nil
}
