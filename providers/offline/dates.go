package offline

import (
	"regexp"
	"strconv"
	"strings"
	"time"
)

// dateMatchers find days and times of day. Their values are ISO: 2006-01-02,
// 15:04 and, where a question gives a full timestamp, RFC 3339.
func dateMatchers() []matcher {
	return []matcher{
		{regexp.MustCompile(`\b(\d{4}-\d{2}-\d{2}[Tt ]\d{2}:\d{2}(?::\d{2})?(?:[Zz]|[+-]\d{2}:\d{2})?)`), isoTimestamp},
		{regexp.MustCompile(`\b(\d{4})[-/](\d{1,2})[-/](\d{1,2})\b`), func(g []string, now time.Time) *mention {
			return day(g[1], g[2], g[3], now)
		}},
		{regexp.MustCompile(`\b(\d{1,2})[-/.](\d{1,2})[-/.](\d{4})\b`), func(g []string, now time.Time) *mention {
			return day(g[3], g[2], g[1], now)
		}},
		{regexp.MustCompile(`(?i)((?:ngày|ngay|mùng|mung)\s+)(\d{1,2})[-/](\d{1,2})\b`), func(g []string, now time.Time) *mention {
			return day("", g[3], g[2], now)
		}},
		{
			regexp.MustCompile(`(?i)((?:ngày|ngay|mùng|mung)\s+)?(\d{1,2})\s+(?:tháng|thang)\s+(\d{1,2})(?:\s+(?:năm|nam)\s+(\d{4}))?`),
			func(g []string, now time.Time) *mention { return day(g[4], g[3], g[2], now) },
		},
		{
			regexp.MustCompile(`(?i)\b(` + monthNames + `)\.?\s+(\d{1,2})(?:st|nd|rd|th)?(?:,?\s+(\d{4}))?\b`),
			func(g []string, now time.Time) *mention { return day(g[3], monthNumber(g[1]), g[2], now) },
		},
		{
			regexp.MustCompile(`(?i)\b(\d{1,2})(?:st|nd|rd|th)?\s+(?:of\s+)?(` + monthNames + `)(?:,?\s+(\d{4}))?\b`),
			func(g []string, now time.Time) *mention { return day(g[3], monthNumber(g[2]), g[1], now) },
		},
		{regexp.MustCompile(`(?i)(?:^|[^\pL])(` + relativeDays + `)(?:$|[^\pL])`), relativeDay},
		{
			regexp.MustCompile(`(?i)\b(next |this |on )?(monday|tuesday|wednesday|thursday|friday|saturday|sunday)\b`),
			func(g []string, now time.Time) *mention { return weekday(weekdayNumber(g[2]), g[1], now) },
		},
		{
			regexp.MustCompile(`(?i)(?:^|[^\pL])((?:thứ|thu) (?:hai|ba|tư|tu|năm|nam|sáu|sau|bảy|bay)|chủ nhật|chu nhat)(?:$|[^\pL])`),
			func(g []string, now time.Time) *mention { return weekday(weekdayNumber(fold(g[1])), "", now) },
		},
		{regexp.MustCompile(`(?i)\b(\d{1,2}):(\d{2})(?::\d{2})?\s*(am|pm)?\b`), func(g []string, _ time.Time) *mention {
			return clock(g[1], g[2], g[3])
		}},
		{regexp.MustCompile(`(?i)\b(\d{1,2})\s?(am|pm)\b`), func(g []string, _ time.Time) *mention { return clock(g[1], "", g[2]) }},
		{
			regexp.MustCompile(`(?i)\b(\d{1,2})\s?(?:h|giờ|gio)\s?(\d{2})?(?:\s(sáng|sang|trưa|trua|chiều|chieu|tối|toi))?(?:$|[\s.,;?!])`),
			func(g []string, _ time.Time) *mention { return clock(g[1], g[2], g[3]) },
		},
	}
}

const (
	monthNames = `january|february|march|april|may|june|july|august|september|october|november|december|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec`

	relativeDays = `the day after tomorrow|day after tomorrow|tomorrow|today|tonight|yesterday|right now|now|next week|last week|` +
		`ngày mốt|ngay mot|ngày kia|ngay kia|ngày mai|ngay mai|hôm nay|hom nay|tối nay|toi nay|sáng mai|sang mai|chiều mai|chieu mai|chiều nay|chieu nay|` +
		`hôm qua|hom qua|hôm kia|hom kia|tuần sau|tuan sau|tuần tới|tuan toi|tuần trước|tuan truoc|bây giờ|bay gio|hiện tại|hien tai|hiện nay|hien nay`
)

const isoDay = "2006-01-02"

func relativeDay(g []string, now time.Time) *mention {
	days, ok := map[string]int{
		"the day after tomorrow": 2, "day after tomorrow": 2, "tomorrow": 1, "yesterday": -1, "next week": 7, "last week": -7,
		"ngay mot": 2, "ngay kia": 2, "ngay mai": 1, "sang mai": 1, "chieu mai": 1, "hom qua": -1, "hom kia": -2,
		"tuan sau": 7, "tuan toi": 7, "tuan truoc": -7,
	}[fold(g[1])]
	m := &mention{kind: isDate, text: now.AddDate(0, 0, days).Format(isoDay)}
	// "now" seldom is an argument.
	m.weak = !ok && !strings.Contains(fold(g[1]), "today") && !strings.Contains(fold(g[1]), "hom nay")
	return m
}

func isoTimestamp(g []string, _ time.Time) *mention {
	s := strings.ToUpper(strings.Replace(g[1], " ", "T", 1))
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04Z07:00", "2006-01-02T15:04:05", "2006-01-02T15:04"} {
		if t, err := time.Parse(layout, s); err == nil {
			return &mention{kind: isDate, text: t.Format(time.RFC3339)}
		}
	}
	return nil
}

// day gives a date; without a year, that of now.
func day(year, month, d string, now time.Time) *mention {
	y, err := strconv.Atoi(year)
	if err != nil {
		y = now.Year()
	}
	m, _ := strconv.Atoi(month)
	n, _ := strconv.Atoi(d)
	t := time.Date(y, time.Month(m), n, 0, 0, 0, 0, time.UTC)
	if int(t.Month()) != m || t.Day() != n { // 31 February
		return nil
	}
	return &mention{kind: isDate, text: t.Format(isoDay)}
}

func monthNumber(name string) string {
	i := strings.Index("janfebmaraprmayjunjulaugsepoctnovdec", strings.ToLower(name[:3]))
	return strconv.Itoa(i/3 + 1)
}

func weekdayNumber(name string) time.Weekday {
	days := map[string]time.Weekday{
		"sun": 0, "mon": 1, "tue": 2, "wed": 3, "thu": 4, "fri": 5, "sat": 6,
		"chu nhat": 0, "thu hai": 1, "thu ba": 2, "thu tu": 3, "thu nam": 4, "thu sau": 5, "thu bay": 6,
	}
	name = strings.ToLower(name)
	if d, ok := days[name]; ok {
		return d
	}
	return days[name[:3]]
}

// weekday gives the next such day: today counts unless the question says "next".
func weekday(d time.Weekday, which string, now time.Time) *mention {
	ahead := (int(d) - int(now.Weekday()) + 7) % 7
	if ahead == 0 && strings.HasPrefix(strings.ToLower(which), "next") {
		ahead = 7
	}
	return &mention{kind: isDate, text: now.AddDate(0, 0, ahead).Format(isoDay)}
}

// clock gives a time of day. Vietnamese says "9 giờ tối" for 21:00.
func clock(hour, minute, half string) *mention {
	h, _ := strconv.Atoi(hour)
	m, _ := strconv.Atoi(minute)
	switch fold(half) {
	case "pm", "chieu", "toi":
		if h < 12 {
			h += 12
		}
	case "am", "sang":
		if h == 12 {
			h = 0
		}
	}
	if h > 23 || m > 59 {
		return nil
	}
	return &mention{kind: isTime, text: time.Date(0, 1, 1, h, m, 0, 0, time.UTC).Format("15:04")}
}
