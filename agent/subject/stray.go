package subject

import (
	"sync"
	"unicode"

	"molar/internal/text"
)

const (
	// strayLine is the line for a part of an answer: its score, less freshCost for the share of its
	// words that nothing places, must be above it.
	strayLine, freshCost = -1.5, 2.0
	// strayWords is the fewest words that show what a part is about. A shorter one is read together with
	// the sentence before it, and for itself it is in doubt only below shortLine; with nothing before it,
	// it must prove more.
	strayWords = 6
	shortLine  = -4.0
	aloneLine  = -0.5
	// certainLine is the line below which hardly any part keeps to the subject, and straySure the score at or
	// below which no foreign text places a part.
	certainLine = -1.75
	straySure   = -0.9
	// asAnswer scales a score of the question classifier for an answer.
	asAnswer = 0.4
	// mostGround bounds how much of the foreign texts is read, in bytes.
	mostGround = 64 << 10
)

// A Ground holds the texts of a turn that an answer may speak about. It is safe for concurrent use.
type Ground struct {
	guard *Guard

	mu sync.Mutex
	// own are the words of the person and the operator, all of them and those of the foreign texts.
	own, all vocabulary
	// foreign are texts of others that were not read yet: those of their sentences count that clearly keep
	// to the subject themselves, so that no page can put its own words into an answer.
	foreign []foreignText
	read    int // bytes of the foreign texts that were read
	// led is set if a foreign text may have led the answer away.
	led bool
	// other is set if the person writes in a language that the guard does not know.
	other bool
}

// A foreignText is a text of others, with what it says of the answer.
type foreignText struct {
	text string
	// leads reports whether a sentence of this weight may lead an answer away; nil if none can.
	leads func(weight) bool
}

// NewGround returns a ground that holds only the texts of the topic.
func (g *Guard) NewGround() *Ground {
	return &Ground{guard: g, own: make(vocabulary), all: make(vocabulary)}
}

// readTexts returns the words of the topic's description and notices.
func (g *Guard) readTexts() vocabulary {
	said := make(vocabulary)
	for _, lang := range g.topic.Languages {
		v := g.topic.Voices[lang]
		said.add(wordsIn(v.Description))
		for _, notice := range v.Notices {
			said.add(wordsIn(notice))
		}
	}
	return said
}

// Asked adds what the person wrote.
func (k *Ground) Asked(question string) {
	k.guard.Prepare()
	k.Own(question)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.other = k.guard.read(question).other
}

// Own adds texts of the person or the operator.
func (k *Ground) Own(texts ...string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, t := range texts {
		words := wordsIn(t)
		k.own.add(words)
		k.all.add(words)
	}
}

// Retold adds what models and clients wrote of the conversation before. It leads no answer away.
func (k *Ground) Retold(texts ...string) { k.add(nil, texts) }

// Found adds texts of others that were looked up for the question, or that the person gave. They may lead an
// answer away where a whole sentence of them is in doubt.
func (k *Ground) Found(texts ...string) {
	k.add(func(w weight) bool { return w.doubt(true) && (w.unread || w.words >= strayWords) }, texts)
}

// Fetched adds texts of others that the model asked for. They may lead an answer away unless each sentence
// of them clearly keeps to the subject.
func (k *Ground) Fetched(texts ...string) {
	k.add(func(w weight) bool { return !w.keeps() }, texts)
}

func (k *Ground) add(leads func(weight) bool, texts []string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, t := range texts {
		k.foreign = append(k.foreign, foreignText{t, leads})
	}
}

// Leads reports whether a text that was read may have led the answer away: code cannot tell by the words of
// the answer then.
func (k *Ground) Leads() bool {
	k.guard.Prepare()
	k.mu.Lock()
	defer k.mu.Unlock()
	k.settle()
	return k.led
}

// settle reads the foreign texts: the words of their sentences that keep to the subject count. What is too long
// to be read may lead anywhere.
func (k *Ground) settle() {
	for _, f := range k.foreign {
		clipped := text.Clip(f.text, max(mostGround-k.read, 0), "")
		k.read += len(clipped)
		k.led = k.led || f.leads != nil && len(clipped) < len(f.text)
		for _, sentence := range text.Sentences(clipped) {
			r := k.guard.part(sentence)
			w := k.guard.weigh(r, k.guard.share(r, k.own), k.other)
			if w.keeps() {
				k.all.add(r.words)
			}
			k.led = k.led || f.leads != nil && f.leads(w)
		}
	}
	k.foreign = nil
}

func wordsIn(s string) []text.Word {
	clean, _, _ := normalise(text.Clip(s, maxKnown, ""))
	return wordsOf(clean)
}

// part reads a part of an answer. Signs of injection do not count: an answer gives no orders.
func (g *Guard) part(s string) reading {
	r := g.read(s)
	r.marker = marker{}
	if lang, sure := Guess(r.text); lang == Other && sure {
		r.other = true
	}
	return r
}

// share returns the share of the words of a part that carry a subject and that nothing places: they
// neither name the topic nor stand in its texts or in a vocabulary. A picture sign counts as a word.
func (g *Guard) share(r reading, known vocabulary) float64 {
	signs := 0
	for _, c := range r.text {
		if unicode.In(c, unicode.So, unicode.Co) {
			signs++
		}
	}
	words, heavy := r.heavy()
	if len(words)+signs == 0 {
		return 0
	}
	fresh := signs
	for _, i := range heavy {
		if !r.names[i] && !known.has(words[i]) && !g.said.has(words[i]) {
			fresh++
		}
	}
	return float64(fresh) / float64(len(words)+signs)
}

// A weight is what code makes of a part of an answer.
type weight struct {
	score, share float64
	words        int
	// unread is set for a language that code cannot read here.
	unread bool
}

// weigh weighs a part with a share of fresh words; other is set if the person writes in a language that
// the guard does not know.
func (g *Guard) weigh(r reading, share float64, other bool) weight {
	w := weight{share: share, words: len(r.words)}
	switch {
	case r.other:
		w.unread = !other || !r.abroad
	case g.model != nil && g.model.Answers.Bits > 0:
		w.score = g.model.Answers.Score(plain(r.words))
	case len(r.words) > 0:
		w.score = g.alone(r).Score * asAnswer
	}
	return w
}

// worth is the score of a part, less the cost of its fresh words.
func (w weight) worth() float64 { return w.score - freshCost*w.share }

// keeps reports whether a part clearly keeps to the subject.
func (w weight) keeps() bool { return !w.unread && w.worth() > 0 }

// doubt reports whether code cannot place a part; alone is set if there is nothing that it could be read with.
func (w weight) doubt(alone bool) bool {
	switch worth := w.worth(); {
	case w.unread:
		return w.share > 0
	case w.words == 0 && alone:
		return w.share > 0
	case w.words < strayWords && alone:
		return w.share > 0 && worth <= aloneLine
	case w.words < strayWords:
		return worth <= shortLine
	default:
		return worth <= strayLine
	}
}

// Strays reports whether a part of an answer is in doubt, by the score that it returns, and whether it has
// surely left the topic. before is the sentence before it: a few words show nothing alone. What
// code cannot place is in doubt, unless its words stand in the ground.
func (g *Guard) Strays(part, before string, ground *Ground) (score float64, strayed, sure bool) {
	g.Prepare()
	ground.mu.Lock()
	defer ground.mu.Unlock()
	r := g.part(part)
	score, strayed, sure = g.strays(r, before == "", ground)
	if !strayed && len(r.words) > 0 && len(r.words) < strayWords && before != "" {
		return g.strays(g.part(before+" "+part), true, ground)
	}
	return score, strayed, sure
}

func (g *Guard) strays(r reading, alone bool, ground *Ground) (score float64, strayed, sure bool) {
	w := g.weigh(r, g.share(r, ground.own), ground.other)
	if w.doubt(alone) && (w.score > straySure || w.words < strayWords) {
		ground.settle()
		w.share = g.share(r, ground.all)
	}
	score = w.worth()
	return score, w.doubt(alone), w.words >= strayWords && !w.unread && score <= certainLine
}
