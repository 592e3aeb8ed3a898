package config

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"
	_ "time/tzdata" // the zones, for systems that do not have them
)

// Hours are the weekly hours of a desk; the zero Hours are always.
type Hours struct {
	zone *time.Location
	// open are the times of each day, Sunday first.
	open [7][]span
}

// A span is a time of a day, in minutes after its midnight. to is more than a day's if it ends on the
// next day.
type span struct{ from, to int }

const minutesOfDay = 24 * 60

// errHours says what hours look like.
var errHours = errors.New(`want days and times such as "Mo-Fr 08:00-12:00,13:00-17:00; Sa 08:00-12:00"`)

// ParseHours reads hours in a zone, such as Asia/Ho_Chi_Minh: parts divided by semicolons, each with days
// and times, or with times for every day. A time that ends before it begins ends on the next day. The
// empty text is always.
func ParseHours(text, zone string) (Hours, error) {
	if strings.TrimSpace(text) == "" {
		return Hours{}, nil
	}
	place, err := time.LoadLocation(zone)
	if err != nil || zone == "" || zone == "Local" {
		return Hours{}, fmt.Errorf("there is no time zone %q; want one such as Asia/Ho_Chi_Minh", zone)
	}
	h := Hours{zone: place}
	for part := range strings.SplitSeq(text, ";") {
		fields := strings.Fields(part)
		days := []time.Weekday{time.Sunday, time.Monday, time.Tuesday, time.Wednesday, time.Thursday, time.Friday, time.Saturday}
		if len(fields) == 2 {
			if days, err = parseDays(fields[0]); err != nil {
				return Hours{}, err
			}
		}
		if len(fields) == 0 || len(fields) > 2 {
			return Hours{}, errHours
		}
		times, err := parseSpans(fields[len(fields)-1])
		if err != nil {
			return Hours{}, err
		}
		for _, day := range days {
			if h.open[day] != nil {
				return Hours{}, fmt.Errorf(`%s is named twice; write all its times in one part, such as "Mo 08:00-12:00,13:00-17:00"`, day)
			}
			h.open[day] = times
		}
	}
	return h, nil
}

// parseDays reads days such as Mo-Fr or Mo,We,Fr.
func parseDays(text string) (days []time.Weekday, err error) {
	for item := range strings.SplitSeq(text, ",") {
		first, last, isRange := strings.Cut(item, "-")
		if !isRange {
			last = first
		}
		from, to := slices.Index(dayNames(), strings.ToLower(first)), slices.Index(dayNames(), strings.ToLower(last))
		if from < 0 || to < 0 {
			return nil, fmt.Errorf("%q: %w", item, errHours)
		}
		for day := from; ; day = (day + 1) % len(dayNames()) {
			days = append(days, time.Weekday(day))
			if day == to {
				break
			}
		}
	}
	return days, nil
}

// dayNames returns the names of the days, Sunday first.
func dayNames() []string { return []string{"su", "mo", "tu", "we", "th", "fr", "sa"} }

// parseSpans reads times such as 08:00-12:00,13:00-17:00.
func parseSpans(text string) (all []span, err error) {
	for item := range strings.SplitSeq(text, ",") {
		first, last, _ := strings.Cut(item, "-")
		from, ok := minuteOf(first)
		to, ends := minuteOf(last)
		if !ok || !ends || from == minutesOfDay || from == to {
			return nil, fmt.Errorf("%q: %w", item, errHours)
		}
		if to < from {
			to += minutesOfDay
		}
		all = append(all, span{from, to})
	}
	return all, nil
}

// minuteOf reads a time of day from 0:00 to 24:00.
func minuteOf(text string) (minute int, ok bool) {
	if text == "24:00" {
		return minutesOfDay, true
	}
	t, err := time.Parse("15:04", text)
	return t.Hour()*60 + t.Minute(), err == nil
}

// Open reports whether a time is within the hours.
func (h Hours) Open(at time.Time) bool {
	if h.zone == nil {
		return true
	}
	for begin, end := range h.around(at) {
		if !at.Before(begin) && at.Before(end) {
			return true
		}
	}
	return false
}

// Next returns when the hours begin next, in their zone; the time itself if it is within them.
func (h Hours) Next(at time.Time) time.Time {
	if h.Open(at) {
		return at
	}
	var next time.Time
	for begin := range h.around(at) {
		if begin.After(at) && (next.IsZero() || begin.Before(next)) {
			next = begin
		}
	}
	return next
}

// around yields beginning and end of the times from the day before a time until a week after it.
func (h Hours) around(at time.Time) iter.Seq2[time.Time, time.Time] {
	return func(yield func(begin, end time.Time) bool) {
		year, month, day := at.In(h.zone).Date()
		for offset := -1; offset <= 7; offset++ {
			date := time.Date(year, month, day+offset, 12, 0, 0, 0, h.zone) // noon is there on each day
			for _, s := range h.open[date.Weekday()] {
				if !yield(h.minute(date, s.from), h.minute(date, s.to)) {
					return
				}
			}
		}
	}
}

// minute returns the time of a minute after the midnight of a day, as clocks show it.
func (h Hours) minute(day time.Time, minute int) time.Time {
	return time.Date(day.Year(), day.Month(), day.Day(), 0, minute, 0, 0, h.zone)
}
