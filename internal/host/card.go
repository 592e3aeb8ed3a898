package host

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"molar/agent/subject"
	"molar/agent/subject/learn"
	"molar/internal/config"
)

// maxCard is the size of the largest card that is read, in bytes.
const maxCard = 1 << 20

// A card is what config check tells of a card. It is read with patience, unlike [learn.Card]: the card of
// a pack is a claim of whoever wrote it, and keys that are missing or of another form are not told.
type card struct {
	// Sum is the sum of the pack that was measured.
	Sum      string `json:"sum"`
	Messages struct {
		Accuracy   *float64 `json:"accuracy"`
		InRecall   *float64 `json:"in_recall"`
		OutRecall  *float64 `json:"out_recall"`
		Sure       *float64 `json:"sure_share"`
		WrongUpper *float64 `json:"sure_wrong_high"`
		Judge      *float64 `json:"judge"`
	} `json:"messages"`
	Emergencies struct {
		Found *float64 `json:"found_share"`
		False *float64 `json:"false_share"`
	} `json:"emergencies"`
}

// readCard reads a card, or what can be read of it.
func readCard(folder fs.FS, name string) card {
	var c card
	if info, err := fs.Stat(folder, name); err != nil || info.Size() > maxCard {
		return c
	}
	if data, err := fs.ReadFile(folder, name); err == nil {
		_ = json.Unmarshal(data, &c) // a key of another form is not told
	}
	return c
}

// numbers lists what the card says.
func (c card) numbers() string {
	var all []string
	add := func(format string, value *float64, times float64) {
		if value != nil {
			all = append(all, fmt.Sprintf(format, *value*times))
		}
	}
	m := c.Messages
	add("accuracy %.3f", m.Accuracy, 1)
	add("recall of its own %.3f", m.InRecall, 1)
	add("of others %.3f", m.OutRecall, 1)
	add("sure in code %.2f", m.Sure, 1)
	add("of these at most %.1f %% wrong", m.WrongUpper, 100)
	add("the judge needed for %.2f", m.Judge, 1)
	add("emergencies found %.3f", c.Emergencies.Found, 1)
	add("false alarms %.3f", c.Emergencies.False, 1)
	return strings.Join(all, ", ")
}

// Describe returns a line about each topic: where it comes from, and its card. A card is a claim until
// "molar topic check" measured this pack on this machine. Env finds the user's data folder.
func (o *Topics) Describe(env func(string) (string, bool)) []string {
	var lines []string
	for _, t := range o.all {
		from, sum := "in the config file", t.sum
		switch {
		case t.folder != "" && !t.set.Trusted():
			from = "somebody else's pack in " + t.folder
		case t.folder != "":
			from = "pack in " + t.folder
		case t.files != nil:
			from = "built in"
			sum, _ = subject.Sum(t.files) // an empty one was never checked
		}
		lines = append(lines, fmt.Sprintf("topic:      %s (%s)%s", t.Name, from, t.measured(sum, env)))
	}
	return lines
}

// measured tells the card and how far it can be believed.
func (t topic) measured(sum string, env func(string) (string, bool)) string {
	if t.files == nil {
		return ""
	}
	if c, here := checked(env, sum); here {
		return ": " + c.numbers() + "; measured on this machine"
	}
	numbers := t.card.numbers()
	switch {
	case numbers == "":
		return ": no card, as it was never measured: molar topic check"
	case t.card.Sum != "" && t.card.Sum != sum:
		return ": " + numbers + "; claimed, for another version of the pack"
	}
	return ": " + numbers + "; claimed, not yet measured on this machine: molar topic check"
}

// checkedFolder is the folder in the user's data that has the card of each pack that was measured.
const checkedFolder = "topics-checked"

// checkedFile returns the path of the card of a measured pack.
func checkedFile(env func(string) (string, bool), sum string) (string, error) {
	if !regexp.MustCompile(`^[0-9a-f]{64}$`).MatchString(sum) {
		return "", fmt.Errorf("%q is no sum of a pack", sum)
	}
	dir, err := config.DataDir(env)
	return filepath.Join(dir, checkedFolder, sum), err
}

// checked returns the card that was measured of the pack with a sum on this machine, and false if
// there is none.
func checked(env func(string) (string, bool), sum string) (card, bool) {
	file, err := checkedFile(env, sum)
	if err != nil {
		return card{}, false
	}
	c := readCard(os.DirFS(filepath.Dir(file)), filepath.Base(file))
	return c, c.Sum == sum
}

// NoteCheck keeps the card of a pack that was measured on this machine, by the card's sum. Config check
// tells it in place of what the pack says of itself.
func NoteCheck(env func(string) (string, bool), c learn.Card) error {
	file, err := checkedFile(env, c.Sum)
	if err != nil {
		return err
	}
	data, err := json.Marshal(c)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(file), 0o700)
	}
	if err == nil {
		err = os.WriteFile(file, data, 0o600)
	}
	if err != nil {
		return fmt.Errorf("keep the card of the measured pack: %w", err)
	}
	return nil
}

// An Unconfirmed is a pack whose sum is not in the config, with what a person should read before
// it is written there.
type Unconfirmed struct {
	Topic string
	Texts string
}

// Unconfirmed returns the packs whose sum is not the one in the config.
func (o *Topics) Unconfirmed() []Unconfirmed {
	var all []Unconfirmed
	for _, t := range o.all {
		if t.sum != "" && t.checkSum() != nil {
			all = append(all, Unconfirmed{t.Name, emergencyTexts(t.Topic)})
		}
	}
	return all
}

// emergencyTexts returns what a topic says in an emergency, and what follows.
func emergencyTexts(t subject.Topic) string {
	var b strings.Builder
	fmt.Fprintf(&b, "What the pack of the topic %q says in an emergency:\n", t.Name)
	if len(t.Emergencies.Kinds) == 0 {
		b.WriteString("\nnothing: it knows no emergencies\n")
	}
	for _, k := range t.Emergencies.Kinds {
		follows := "then the model answers, without a passage"
		switch {
		case k.Ends:
			follows = "nothing follows: nothing is searched, and no model is asked"
		case k.Passage != "":
			follows = fmt.Sprintf("then the passage %q of its guide, and the model's answer", k.Passage)
		}
		fmt.Fprintf(&b, "\n%s; %s\n", k.Name, follows)
		for _, lang := range t.Languages {
			fmt.Fprintf(&b, "  %s: %s\n", lang, strings.ReplaceAll(subject.Notice(t, []string{k.Name}, lang), "\n", "\n      "))
		}
	}
	return b.String()
}
