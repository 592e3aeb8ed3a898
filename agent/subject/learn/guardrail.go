package learn

import (
	"context"
	"fmt"
	"maps"
	"math"
	"math/bits"
	"math/rand/v2"
	"path"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"molar/agent/subject"
	"molar/agent/subject/scoring"
	"molar/internal/text"
)

// The sizes of tables of messages, in bits, and of the table of answers.
const (
	fewestBits, mostBits = 16, 20
	answerBits           = 17
)

const (
	// parts is in how many parts lines are left out.
	parts = 5
)

// A messageLearner learns what belongs to a topic.
type messageLearner struct {
	guard *subject.Guard // of the topic, without weights
	// lines are the topic's own, and then those of no subject.
	lines []subject.Line
	own   int // how many are its own
	// lessons are those of the lines, names those of the names of the topic.
	lessons, names []lesson
	pleasantries   []lesson
	dressed        map[string][]string
	answers        answerParts
}

// newMessageLearner prepares the lessons of labelled lines of a topic.
func newMessageLearner(ctx context.Context, t subject.Topic, lines []subject.Line, g general, told []string) (*messageLearner, error) {
	t.Weights, t.Examples = "", make([]subject.Example, len(lines))
	for i, l := range lines {
		t.Examples[i] = l.Example()
	}
	if in, out := t.Labels(); min(in, out) < subject.FewestExamples {
		return nil, fmt.Errorf("%d lines belong to the topic and %d do not: at least %d of each are needed to learn: let a model write them (molar topic grow), or write them into %s",
			in, out, subject.FewestExamples, path.Join(subject.LinesFolder, OwnFile))
	}
	guard, err := subject.NewGuard(subject.GuardConfig{Topic: t})
	if err != nil {
		return nil, err
	}
	g.others, g.pleasantries = thin(g.others, mostPerLine*len(lines)), thin(g.pleasantries, mostPerLine*len(lines))
	m := &messageLearner{
		guard: guard, lines: slices.Clone(lines), own: len(lines), dressed: g.dressed, answers: answerParts{of: told, other: g.answers},
		lessons: lessonsOf(guard, lines, 2), names: lessonsOfNames(guard), pleasantries: lessonsOf(guard, g.pleasantries, 7),
	}
	return m, m.addGeneral(ctx, g.others)
}

// mostPerLine is how many lines of no subject are learned for each line of the topic: a topic of a
// hundred examples is learned when a person waits for the first answer.
const mostPerLine = 8

// thin returns at most so many of some things, evenly spaced.
func thin[T any](all []T, most int) []T {
	if len(all) <= most {
		return all
	}
	kept := make([]T, most)
	for i := range kept {
		kept[i] = all[i*len(all)/most]
	}
	return kept
}

// addGeneral adds the lines of no subject, but for those that name the topic or seem to belong to it:
// those that score, by what was learned from the topic's own lines alone, as high as half of the lines
// that belong to it and were left out.
func (m *messageLearner) addGeneral(ctx context.Context, others []subject.Line) error {
	others = slices.DeleteFunc(slices.Clone(others), func(l subject.Line) bool { return m.guard.Names(l.Text) })
	if len(others) == 0 {
		return nil
	}
	lessons := lessonsOf(m.guard, others, 5)
	part := m.folds(2)
	tables := make([]subject.Table, 2)
	if err := parallel(ctx, []func() error{
		func() error { tables[0] = m.fit(0); return nil },
		func() error { tables[1] = m.fit(1); return nil },
	}); err != nil {
		return err
	}
	var scores []float64
	for i, l := range m.lessons {
		if l.in && !l.follows && m.lines[i].Kind != term {
			scores = append(scores, tables[part[i]].Score(l.forms[0].first))
		}
	}
	half := math.Inf(1)
	if len(scores) > 0 {
		slices.Sort(scores)
		half = scores[len(scores)/2]
	}
	for i, l := range lessons {
		if fs := l.forms[0]; (tables[0].Score(fs.first)+tables[1].Score(fs.first))/2 < half {
			m.lines, m.lessons = append(m.lines, others[i]), append(m.lessons, l)
		}
	}
	return nil
}

// term is the kind of a line that is no message, but a word or a phrase.
const term = "term"

// folds puts the lines into parts, and returns the part of each. Terms are never left out.
func (m *messageLearner) folds(parts int) []int {
	part := folds(m.lines, parts)
	for i, l := range m.lines {
		if l.Kind == term {
			part[i] = notLeft
		}
		m.lessons[i].of = part[i]
	}
	return part
}

// learn learns from all lines. With proof it also judges each line by what was learned without its
// group, and finds from which scores on code may be sure; without, it is never sure. It returns the
// judged lines, those of the topic first.
func (m *messageLearner) learn(ctx context.Context, proof bool) (c subject.Classifier, left []judged, err error) {
	part := m.folds(parts)
	jobs := []func() error{
		func() error { c.Table = m.fit(none); return nil },
		func() error { c.Answers = m.answers.fit(m.lessons[:m.own]); return nil },
	}
	tables := make([]subject.Table, parts)
	for p := range parts {
		if proof {
			jobs = append(jobs, func() error { tables[p] = m.fit(p); return nil })
		}
	}
	if err := parallel(ctx, jobs); err != nil {
		return c, nil, err
	}
	c.Sure, c.Languages = subject.Never(), languagesOf(m.lines[:m.own])
	c.FollowUps = m.hasFollowUps()
	if proof {
		if left, err = m.judge(ctx, part, tables); err == nil {
			c.Sure = thresholds(left)
		}
	}
	return c, left, err
}

// judge judges each line by the table that was learned without its part, and by the thresholds that
// the lines of the other parts prove.
func (m *messageLearner) judge(ctx context.Context, part []int, tables []subject.Table) ([]judged, error) {
	out := make([]judged, len(m.lines))
	weigh := func(p int, sure subject.Sure, take func(g *subject.Guard, i int, e subject.Example)) error {
		g, err := m.guardWith(tables[p], sure)
		if err != nil {
			return err
		}
		for i, l := range m.lines {
			if part[i] == p {
				take(g, i, l.Example())
			}
		}
		return nil
	}
	var weighing, judging []func() error
	for p := range tables {
		weighing = append(weighing, func() error {
			return weigh(p, subject.Never(), func(g *subject.Guard, i int, e subject.Example) {
				out[i] = judged{in: e.InDomain, Weighing: g.Weigh(e.Text, scoring.Last(g, e))}
			})
		})
	}
	if err := parallel(ctx, weighing); err != nil {
		return nil, err
	}
	for p := range tables {
		var others []judged
		for i, l := range out {
			if part[i] != p {
				others = append(others, l)
			}
		}
		judging = append(judging, func() error {
			return weigh(p, thresholds(others), func(g *subject.Guard, i int, e subject.Example) {
				out[i].verdict = g.ByCode(e.Text, scoring.Last(g, e))
			})
		})
	}
	return out, parallel(ctx, judging)
}

// none is the part without lines.
const none = -2

// fit learns from all lessons but those of a part.
func (m *messageLearner) fit(without int) subject.Table {
	kept := func(from []lesson) (out []lesson) {
		for _, l := range from {
			if l.of != without || l.of == notLeft {
				out = append(out, l)
			}
		}
		return out
	}
	own := append(kept(m.lessons[:m.own]), m.names...)
	others := kept(m.lessons[m.own:])
	lessons := slices.Concat(own, atMost(mostGeneral, others, own), atMost(mostPleasantries, m.pleasantries, own),
		atMost(mostDressed, m.wrap(own, others), own))
	size := min(max(bits.Len(uint(len(lessons)))+6, fewestBits), mostBits)
	return fit(balance(lessons), size, epochsFor(len(lessons)), decay)
}

// asDressed is the weight of a wrapped message. Each wrapping gets one, and one more for so many lines
// of the topic, at most timesDressed.
const asDressed, timesDressed, manyLines = 0.5, 3, 2000

// wrap puts names of the topic, its messages and those of other subjects into the wrappings that people
// use: a poem about a name does not belong, and a question that is shouted does.
func (m *messageLearner) wrap(own, others []lesson) (wrapped []lesson) {
	chance := rand.New(rand.NewPCG(6, 6)) //nolint:gosec // the same lessons every time
	names, in, out := make(map[string][]string), make(map[string][]string), make(map[string][]string)
	add := func(to map[string][]string, message string) {
		lang, _ := subject.Guess(message)
		to[lang] = append(to[lang], message)
	}
	for _, name := range m.guard.Topic().Phrases.Names {
		add(names, strings.TrimSuffix(name, "*"))
	}
	for _, l := range own {
		if l.in && !l.follows && l.text != "" {
			add(in, l.text)
		}
	}
	for _, l := range others {
		if !l.in && !l.follows {
			add(out, l.text)
		}
	}
	for _, use := range slices.Sorted(maps.Keys(m.dressed)) {
		lang, what, _ := strings.Cut(use, " ")
		fill := map[string][]string{"out name": names[lang], "out other": out[lang], "in": in[lang]}[what]
		for _, frame := range thin(m.dressed[use], m.own) {
			for range min(timesDressed, 1+m.own/manyLines, len(fill)) {
				message := strings.ReplaceAll(frame, "*", fill[chance.IntN(len(fill))])
				l := lesson{of: notLeft, text: message, in: what == "in", weight: asDressed}
				l.add(m.guard, message, 1)
				wrapped = append(wrapped, l)
			}
		}
	}
	return wrapped
}

// hasFollowUps reports whether follow-ups that belong to the topic are learned.
func (m *messageLearner) hasFollowUps() bool {
	return slices.ContainsFunc(m.lessons, func(l lesson) bool { return l.in && l.follows })
}

func (m *messageLearner) guardWith(t subject.Table, sure subject.Sure) (*subject.Guard, error) {
	topic := m.guard.Topic()
	topic.Weights = subject.Classifier{Table: t, Sure: sure, FollowUps: m.hasFollowUps(), Languages: languagesOf(m.lines[:m.own])}.Encode()
	return subject.NewGuard(subject.GuardConfig{Topic: topic})
}

// Training parameters, chosen on lines that were left out by group.
const (
	decay = 2e-3
	// fewLines get more epochs.
	epochs, fewEpochs, fewLines = 5, 12, 10_000
)

func epochsFor(lessons int) int {
	if lessons < fewLines {
		return fewEpochs
	}
	return epochs
}

// answerParts are parts of answers, of the topic and of other subjects.
type answerParts struct{ of, other []string }

// fewestAnswers is the fewest parts of answers to learn from.
const fewestAnswers = 30

// asAnswer is the weight of a part of an answer on the topic; parts on other subjects have the same
// total weight.
const asAnswer = 0.3

// fit learns whether a part of an answer keeps to the topic, from parts of answers and from what
// people ask. With few parts it learns nothing: the messages decide then.
func (a answerParts) fit(questions []lesson) subject.Table {
	if len(a.of) < fewestAnswers || len(a.other) < fewestAnswers {
		return subject.Table{}
	}
	var all []sample
	for _, l := range questions {
		if l.text != "" && l.forms[0].share == 1 {
			all = append(all, answerSamples(l.text, l.in, l.weight)...)
		}
	}
	for _, part := range a.of {
		all = append(all, answerSamples(part, true, asAnswer)...)
	}
	for _, part := range a.other {
		all = append(all, answerSamples(part, false, asAnswer*float64(len(a.of))/float64(len(a.other)))...)
	}
	return fit(all, answerBits, fewEpochs, decay)
}

func answerSamples(part string, in bool, weight float64) []sample {
	out := []sample{{features: subject.AnswerFeatures(part), in: in, weight: weight}}
	if folded := text.Fold(part); folded != strings.ToLower(part) {
		out = append(out, sample{features: subject.AnswerFeatures(folded), in: in, weight: weight / 2})
	}
	return out
}

// languagesOf returns the languages that lines are in, the most frequent first; those of hardly any
// line are left out, which of few lines is a tenth.
func languagesOf(lines []subject.Line) []string {
	counts := make(map[string]int)
	for _, l := range lines {
		if l.Lang != "" && l.Lang != subject.Other {
			counts[l.Lang]++
		}
	}
	fewest := min(subject.FewestExamples, max(len(lines)/10, 1))
	var out []string
	for _, lang := range slices.Sorted(maps.Keys(counts)) {
		if counts[lang] >= fewest {
			out = append(out, lang)
		}
	}
	slices.SortStableFunc(out, func(a, b string) int { return counts[b] - counts[a] })
	return out
}

// parallel runs jobs on all processors until one fails or ctx ends.
func parallel(ctx context.Context, jobs []func() error) error {
	running, ctx := errgroup.WithContext(ctx)
	running.SetLimit(runtime.GOMAXPROCS(0))
	for _, job := range jobs {
		running.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			return job()
		})
	}
	return running.Wait()
}
