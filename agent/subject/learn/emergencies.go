package learn

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	"molar/agent/subject"
	"molar/internal/text"
)

// Training parameters of the tables of emergencies, chosen on lines whose writers were left out.
const (
	alarmDecay  = 4e-4
	alarmEpochs = 12
)

// The weights of lessons of emergencies.
const (
	asComposed = 0.3
	asFramed   = 0.3
	asOrdinary = 0.13 // a line that only says whether it belongs to the topic
	asHarmless = 0.4  // the most that such a line weighs
)

// rarely is the weight below which a line is learned only as it is written, and without marks.
const rarely = 0.5

// An alarm is a message to learn emergencies from: the kind that it describes, empty for none, and
// its weight.
type alarm struct {
	text, kind string
	weight     float64
	part       int // of the line that it was made of
}

// alarmParts is in how many parts lines of emergencies are left out.
const alarmParts = 4

// learnEmergencies learns which messages describe an emergency of the topic, and of which kind, and
// notes on the card how well the lines are judged by what was learned without their group. It returns
// nothing if the topic has no kinds, or no line describes one. The same lines give the same bytes on
// the same architecture.
func learnEmergencies(ctx context.Context, t subject.Topic, lines []subject.Line, g general, card *Card) (string, error) {
	for _, l := range lines {
		if l.Emergency != nil && *l.Emergency != "" && *l.Emergency != unclear && !isKind(t, *l.Emergency) {
			return "", fmt.Errorf("the line %q has the emergency %q, which %s does not name: name the kind there, or correct the line", text.Truncate(l.Text, 60), *l.Emergency, subject.EmergencyFile)
		}
	}
	if len(t.Emergencies.Kinds) == 0 {
		return "", nil
	}
	t.Emergencies.Weights = ""
	detector, lines := subject.NewDetector(t), slices.Concat(lines, g.others)
	part := folds(lines, alarmParts)
	alarms := alarmsOf(detector, lines, part, g)
	if !slices.ContainsFunc(alarms, func(a alarm) bool { return a.kind != "" }) {
		return "", nil
	}
	features := make([][]subject.Feature, len(alarms))
	for i, a := range alarms {
		features[i] = detector.Features(a.text)
	}
	learn := func(bits int, is, about func(alarm) bool) subject.Table {
		var all []sample
		for i, a := range alarms {
			if about(a) {
				all = append(all, sample{features: features[i], in: is(a), weight: a.weight})
			}
		}
		return fit(all, bits, alarmEpochs, alarmDecay)
	}
	isOne := func(a alarm) bool { return a.kind != "" }
	var found subject.Table
	kinds := make([]subject.Table, len(t.Emergencies.Kinds))
	jobs := []func() error{func() error {
		found = learn(subject.AlarmBits, isOne, func(alarm) bool { return true })
		return nil
	}}
	for i, k := range t.Emergencies.Kinds { // the kind, given that it is an emergency
		jobs = append(jobs, func() error {
			kinds[i] = learn(subject.KindBits, func(a alarm) bool { return a.kind == k.Name }, isOne)
			return nil
		})
	}
	without := make([]subject.Table, alarmParts)
	for p := range without {
		jobs = append(jobs, func() error {
			without[p] = learn(subject.AlarmBits, isOne, func(a alarm) bool { return a.part != p })
			return nil
		})
	}
	if err := parallel(ctx, jobs); err != nil {
		return "", err
	}
	for p, table := range without {
		t.Emergencies.Weights = subject.EncodeAlarms(table, kinds) // kinds matter not to whether one is found
		d := subject.NewDetector(t)
		for i, l := range lines {
			if part[i] == p && l.Emergency != nil && *l.Emergency != unclear && weightOf(l) >= rarely {
				card.addEmergency(*l.Emergency, len(d.Find(l.Text)) > 0)
			}
		}
	}
	return subject.EncodeAlarms(found, kinds), nil
}

// alarmsOf returns the messages to learn emergencies from. A line labelled for it is learned as it
// is written, without marks, and with typing mistakes, and combined with a harmless message of its
// part: an emergency stays one whatever else the message says. In a general frame it is none. A line
// that is labelled only for the guardrail is taken for harmless if it shows no sign of an emergency.
func alarmsOf(signs *subject.Detector, lines []subject.Line, part []int, g general) []alarm {
	type place struct {
		lang string
		part int
	}
	harmless := make(map[place][]string)
	var own, ordinary []int
	for i, l := range lines {
		switch {
		case l.Emergency == nil && len(l.History) == 0 && !l.Example().Follows() && len(signs.Find(l.Text)) == 0:
			ordinary = append(ordinary, i)
		case l.Emergency == nil || *l.Emergency == unclear:
			continue
		default:
			own = append(own, i)
		}
		if l.Emergency == nil || *l.Emergency == "" {
			at := place{l.Lang, part[i]}
			harmless[at] = append(harmless[at], l.Text)
		}
	}
	chance := rand.New(rand.NewPCG(3, 3)) //nolint:gosec // the same alarms every time
	var out []alarm
	for _, i := range own {
		l := lines[i]
		for _, a := range formsOf(l, harmless[place{l.Lang, part[i]}], g.frames[l.Lang], chance) {
			a.part = part[i]
			out = append(out, a)
		}
	}
	share := ordinaryShare(out, lines, ordinary)
	for n, i := range ordinary {
		written, weight := lines[i].Text, share*min(asOrdinary*weightOf(lines[i]), asHarmless)
		folded := text.Fold(written)
		if n%2 == 0 || weightOf(lines[i]) > 1 {
			out = append(out, alarm{folded, "", weight, part[i]})
		}
		if n%2 == 1 || weightOf(lines[i]) > 1 && folded != strings.ToLower(written) {
			out = append(out, alarm{written, "", weight, part[i]})
		}
	}
	return out
}

// mostOrdinary is the most that lines weigh in all that only say whether they belong, relative to those
// that are labelled for emergencies: some of the former describe one that nobody labelled.
const mostOrdinary = 0.2

// ordinaryShare returns the factor that keeps ordinary lines within that.
func ordinaryShare(own []alarm, lines []subject.Line, ordinary []int) float64 {
	var labelled, whole float64
	for _, a := range own {
		labelled += a.weight
	}
	for _, i := range ordinary {
		whole += min(asOrdinary*weightOf(lines[i]), asHarmless)
	}
	return min(1, mostOrdinary*labelled/max(whole, 1))
}

func formsOf(l subject.Line, harmless, frames []string, chance *rand.Rand) []alarm {
	weight, folded := min(weightOf(l), 1), text.Fold(l.Text) // a larger one is for the guardrail
	forms := map[string]float64{l.Text: 1}
	if folded != strings.ToLower(l.Text) {
		forms[folded] = 1
	}
	if weight >= rarely {
		forms[mistype(chance, l.Text)] = mistyped
		forms[mistype(chance, folded)] = mistyped
		if len(harmless) > 0 {
			other := harmless[chance.IntN(len(harmless))]
			forms[l.Text+". "+other] = asComposed
			forms[other+". "+folded] = asComposed
		}
	}
	var out []alarm
	for _, form := range slices.Sorted(maps.Keys(forms)) {
		out = append(out, alarm{text: form, kind: *l.Emergency, weight: forms[form] * weight})
	}
	if *l.Emergency != "" && len(frames) > 0 {
		out = append(out, alarm{text: strings.ReplaceAll(frames[chance.IntN(len(frames))], "*", l.Text), weight: asFramed * weight})
	}
	return out
}

func isKind(t subject.Topic, name string) bool {
	_, known := t.Emergencies.Kind(name)
	return known
}
