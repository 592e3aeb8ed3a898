//go:build long

package learn

import (
	"os"
	"slices"
	"strings"
	"testing"

	"molar/agent/subject"
)

const (
	dentalPack  = "../../../topics/dental"
	generalPack = "../../../topics/general"
)

// Each writer who had seen neither the signs nor the training messages is left out once, to
// measure how much of their messages is found through those of the others. The figure is slightly
// optimistic, as messages were added after theirs were read. The seventh writer, a quarter of
// whose messages is about self-harm, which few others mention, counts only in the total. The writers
// from the eighth to the fourteenth are left out of it: they were asked for messages of certain kinds,
// or for harmless ones that are as near as can be.
func TestEmergencies_withoutEachWriter(t *testing.T) {
	topic, err := subject.ReadPack(os.DirFS(dentalPack), "dental")
	if err != nil {
		t.Fatal(err)
	}
	lines, err := ReadLines(os.DirFS(dentalPack))
	if err != nil {
		t.Fatal(err)
	}
	g, err := readGeneral(os.DirFS(generalPack))
	if err != nil {
		t.Fatal(err)
	}
	var all EmergencyFigures
	for _, name := range []string{"one", "two", "three", "four", "five", "six", "seven", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"} {
		kept := slices.DeleteFunc(slices.Clone(lines), func(l subject.Line) bool { return l.By == name })
		card := newCard("dental", LeftOut)
		if topic.Emergencies.Weights, err = learnEmergencies(t.Context(), topic, kept, g, &card); err != nil {
			t.Fatal(err)
		}
		detector := subject.NewDetector(topic)
		card = newCard("dental", LeftOut)
		for _, l := range lines {
			if l.By == name {
				card.addEmergency(*l.Emergency, len(detector.Find(l.Text)) > 0)
			}
		}
		e := card.Emergencies
		t.Logf("writer %s: %d of %d found, %d of %d false alarms", name, e.Found, e.Emergencies, e.False, e.Harmless)
		if name != "seven" && (float64(e.Found) < 0.9*float64(e.Emergencies) || float64(e.False) > 0.05*float64(e.Harmless)) {
			t.Errorf("writer %s: too few found, or too many false alarms", name)
		}
		all.Found, all.Emergencies, all.False, all.Harmless = all.Found+e.Found, all.Emergencies+e.Emergencies, all.False+e.False, all.Harmless+e.Harmless
	}
	t.Logf("all: %d of %d found, %d of %d false alarms", all.Found, all.Emergencies, all.False, all.Harmless)
	if float64(all.Found) < 0.94*float64(all.Emergencies) || float64(all.False) > 0.03*float64(all.Harmless) {
		t.Errorf("all: too few found, or too many false alarms")
	}
}

// Each line of the dental pack is judged by what was learned without its group or writer. Choices are
// made by these figures.
func TestDental_LeftOut(t *testing.T) {
	r, err := learnPack(t.Context(), os.DirFS(dentalPack), "dental", os.DirFS(generalPack))
	if err != nil {
		t.Fatal(err)
	}
	m := r.card.Messages
	t.Logf("%d lines, accuracy %.3f, sure %.3f, %d wrong", m.N, m.Accuracy, m.SureShare, m.SureWrong)
	if m.Accuracy < 0.93 || m.SureWrongHigh > 0.01 {
		t.Errorf("accuracy %.4f; wrong among sure up to %.4f", m.Accuracy, m.SureWrongHigh)
	}
	for name, got := range map[string]string{subject.MessagesTable: r.messages, subject.EmergenciesTable: r.emergencies} {
		want, err := os.ReadFile(dentalPack + "/" + name)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Compare(got, string(want)) != 0 {
			t.Errorf("%s is not what is learned: run go generate ./agent/subject", name)
		}
	}
}
