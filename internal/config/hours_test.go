package config_test

import (
	"strings"
	"testing"
	"time"

	"molar/internal/config"
)

// at reads a time of a zone.
func at(t *testing.T, zone, text string) time.Time {
	t.Helper()
	place, err := time.LoadLocation(zone)
	if err != nil {
		t.Fatal(err)
	}
	moment, err := time.ParseInLocation("2006-01-02 15:04", text, place)
	if err != nil {
		t.Fatal(err)
	}
	return moment
}

// 2026-11-30 is a Monday.
func TestHours(t *testing.T) {
	const saigon, berlin = "Asia/Ho_Chi_Minh", "Europe/Berlin"
	for _, tt := range []struct {
		hours, zone, at, next string // next is "" within the hours
	}{
		{"", "", "2026-11-30 03:00", ""},
		{"Mo-Fr 08:00-17:00; Sa 08:00-12:00", saigon, "2026-11-30 08:00", ""},
		{"Mo-Fr 08:00-17:00; Sa 08:00-12:00", saigon, "2026-11-30 16:59", ""},
		{"Mo-Fr 08:00-17:00; Sa 08:00-12:00", saigon, "2026-11-30 17:00", "2026-12-01 08:00"},
		{"Mo-Fr 08:00-17:00; Sa 08:00-12:00", saigon, "2026-11-30 07:59", "2026-11-30 08:00"},
		{"Mo-Fr 08:00-17:00; Sa 08:00-12:00", saigon, "2026-12-05 12:00", "2026-12-07 08:00"},
		{"Mo,We,Fr 8:00-12:00,13:30-17:00", saigon, "2026-11-30 12:10", "2026-11-30 13:30"},
		{"Mo,We,Fr 8:00-12:00,13:30-17:00", saigon, "2026-12-04 18:00", "2026-12-07 08:00"},
		{"Mo 08:00-09:00", saigon, "2026-11-30 09:00", "2026-12-07 08:00"},
		{"Sa-Mo 08:00-12:00", saigon, "2026-12-06 09:00", ""},
		{"Sa-Mo 08:00-12:00", saigon, "2026-12-01 09:00", "2026-12-05 08:00"},
		{"08:00-20:00", saigon, "2026-12-06 21:00", "2026-12-07 08:00"},
		{"mo-su 00:00-24:00", saigon, "2026-12-06 23:59", ""},
		{"Su 22:00-06:00", saigon, "2026-11-30 05:59", ""},
		{"Su 22:00-06:00", saigon, "2026-11-30 06:00", "2026-12-06 22:00"},
		{"08:00-17:00", berlin, "2026-03-29 08:00", ""}, // the clocks were set forward in that night
		{"08:00-17:00", berlin, "2026-10-25 07:59", "2026-10-25 08:00"},
		{"02:30-03:30", berlin, "2026-03-29 03:40", "2026-03-30 02:30"}, // the hour that there is not
	} {
		h, err := config.ParseHours(tt.hours, tt.zone)
		if err != nil {
			t.Errorf("%q: %v", tt.hours, err)
			continue
		}
		now := at(t, tt.zone, tt.at).UTC()
		want := now
		if tt.next != "" {
			want = at(t, tt.zone, tt.next)
		}
		if h.Open(now) != (tt.next == "") || !h.Next(now).Equal(want) {
			t.Errorf("%q at %s: open %v, next %s; want %s", tt.hours, tt.at, h.Open(now), h.Next(now), want)
		}
	}
	for hours, fault := range map[string]string{
		"Mo-Fr":                             "want days and times",
		"Mo-Fr 08:00":                       "want days and times",
		"Mo-Fr 08:00-17:00;":                "want days and times",
		"Mo-Fr 17:00-17:00":                 "want days and times",
		"Mo-Fr 24:00-08:00":                 "want days and times",
		"Mo-Fr 08:00-25:00":                 "want days and times",
		"Mo-Xx 08:00-17:00":                 "want days and times",
		"Monday 08:00-17:00":                "want days and times",
		"Mo Fr 08:00-17:00":                 "want days and times",
		"Mo-Fr 8-17":                        "want days and times",
		"Mo-Su 8:00-17:00; Su off":          "want days and times",
		"Mo-Fr 8:00-9:00; Tu 10-12":         "want days and times",
		"Mo-Fr 08:00-12:00; Mo 13:00-17:00": "Monday is named twice",
	} {
		if _, err := config.ParseHours(hours, saigon); err == nil || !strings.Contains(err.Error(), fault) {
			t.Errorf("%q: %v, want %q", hours, err, fault)
		}
	}
	for _, zone := range []string{"", "Local", "Asia/Saigon City", "+07:00"} {
		if _, err := config.ParseHours("08:00-17:00", zone); err == nil || !strings.Contains(err.Error(), "Asia/Ho_Chi_Minh") {
			t.Errorf("zone %q: %v", zone, err)
		}
	}
}
