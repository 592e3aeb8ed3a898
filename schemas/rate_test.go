package schemas_test

import (
	"testing"
	"time"

	"molar/schemas"
)

func TestRate_Text(t *testing.T) {
	for text, want := range map[string]schemas.Rate{
		"20/h":    {Count: 20, Per: time.Hour},
		"5/m":     {Count: 5, Per: time.Minute},
		"1/s":     {Count: 1, Per: time.Second},
		"2000/d":  {Count: 2000, Per: 24 * time.Hour},
		"10/15m":  {Count: 10, Per: 15 * time.Minute},
		"9/31d":   {Count: 9, Per: 31 * 24 * time.Hour},
		"300/90s": {Count: 300, Per: 90 * time.Second},
		"none":    {},
	} {
		var got schemas.Rate
		if err := got.UnmarshalText([]byte(text)); err != nil || got != want {
			t.Errorf("%q: %+v, %v; want %+v", text, got, err, want)
		}
		if got.String() != text {
			t.Errorf("%q is written as %q", text, got)
		}
	}
	for _, text := range []string{"", "20", "20/", "/h", "0/h", "-1/h", "20/0h", "20/32d", "20/w", "20/h/h", "1.5/h", "20 /h", "20/-1h", "99999999999/h", "20/99999999999999999999s"} {
		kept := schemas.Rate{Count: 7, Per: time.Hour}
		if err := kept.UnmarshalText([]byte(text)); err == nil || kept.Count != 7 {
			t.Errorf("%q was read as %+v, %v", text, kept, err)
		}
	}
}
