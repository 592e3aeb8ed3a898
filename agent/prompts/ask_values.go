package prompts

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"molar/internal/text"
	"molar/toolhandler"
)

// texts returns the texts of a value; "" if there is nothing to say.
func (w *asking) texts(v toolhandler.Value) string {
	var all []string
	for i, one := range v.Texts {
		if i == maxListed {
			return strings.Join(all, ", ") + fmt.Sprintf(w.more, len(v.Texts)-i)
		}
		if one = strings.TrimSpace(one); one == "" && v.Use == toolhandler.Content {
			continue
		}
		all = append(all, w.text(v, one))
	}
	return strings.Join(all, ", ")
}

// text returns one text of a value: the beginning of a long one, with how much more there is, a moment as
// people write it, and what an id stands for.
func (w *asking) text(v toolhandler.Value, one string) string {
	isContent := v.Use == toolhandler.Content
	if said, ok := w.momentOf(v, one); ok {
		return said
	}
	if v.IsFlag {
		return map[string]string{"true": w.yes, "false": w.no}[one]
	}
	line := strings.Join(strings.FieldsFunc(one, func(r rune) bool { return r == '\n' || r == '\r' }), " ⏎ ")
	said := w.quoted(text.Clip(line, maxText, "…"), isContent || line != one)
	if len(line) > maxText {
		said += fmt.Sprintf(w.letters, utf8.RuneCountInString(line)-utf8.RuneCountInString(text.Clip(line, maxText, "")))
	}
	switch {
	case strings.Contains(line, " ⏎ "):
		said += w.explain("⏎", w.newLine)
	case isContent:
	case one == "~" || strings.HasPrefix(one, "~/"):
		said += w.explain("~", w.home)
	case strings.Contains(one, "*") && !strings.Contains(one, " "):
		said += w.explain("*", w.pattern)
	}
	if about := w.Reason.Records[one]; len(about) > 0 && !isContent {
		about = slices.Clone(about)
		for i, a := range about {
			if said, ok := w.moment(a); ok {
				about[i] = said
			}
		}
		said = w.quoted(text.Clip(strings.Join(about, "; "), maxText, "…"), true) + " (" + said + ")"
	}
	return said
}

// explain returns the meaning of a sign, once in a question.
func (w *asking) explain(sign, meaning string) string {
	if w.explained[sign] {
		return ""
	}
	w.explained[sign] = true
	return " (" + meaning + ")"
}

// momentOf returns a text of a value as a moment, if the value is no name and no free text.
func (w *asking) momentOf(v toolhandler.Value, one string) (said string, ok bool) {
	if v.Use == toolhandler.Content || isNaming(labelOf(v)) {
		return "", false
	}
	return w.moment(one)
}

// moment returns a date, or a date and time, that a program wrote, as people write it.
func (w *asking) moment(s string) (said string, ok bool) {
	var at time.Time
	var err error
	layouts := []string{time.DateOnly, "2006-01-02T15:04", "2006-01-02T15:04:05", time.DateTime, time.RFC3339}
	i := slices.IndexFunc(layouts, func(layout string) bool {
		at, err = time.Parse(layout, s)
		return err == nil
	})
	if i < 0 {
		return "", false
	}
	hour := at.Format("15:04")
	if at.Second() != 0 {
		hour = at.Format("15:04:05")
	}
	if layouts[i] == time.RFC3339 {
		hour += at.Format(" (UTC-07:00)")
	}
	switch isDate := layouts[i] == time.DateOnly; {
	case w.names != nil && isDate:
		return vietnameseDays()[at.Weekday()] + at.Format(", 02/01/2006"), true
	case w.names != nil:
		return hour + " " + vietnameseDays()[at.Weekday()] + at.Format(", 02/01/2006"), true
	case isDate:
		return at.Format("Monday 2 January 2006"), true
	}
	return at.Format("Monday 2 January 2006") + " at " + hour, true
}

// quoted returns a value as a part of a sentence.
func (w *asking) quoted(value string, always bool) string {
	value = text.Shown(value)
	if w.Quote != nil {
		return w.Quote(value)
	}
	if always || value == "" || strings.ContainsAny(value, " ,;\"“”") && !strings.Contains(value, "://") || strings.ContainsRune(value, ' ') {
		return "“" + strings.NewReplacer("“", `"`, "”", `"`).Replace(value) + "”"
	}
	return value
}
