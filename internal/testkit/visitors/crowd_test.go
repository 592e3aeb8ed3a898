package visitors_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"molar/internal/testkit/visitors"
	"molar/schemas"
)

// of returns a crowd of 200 who ask a front about seven times a minute, for three minutes.
func of(f *front) visitors.Config {
	return visitors.Config{
		Hosts: []string{"http://one.example", "http://two.example"}, Visitors: 200, Addresses: 10,
		Length: 3 * time.Minute, Every: 8 * time.Second, Limits: f.limits, Transport: f,
	}
}

// limits are such that each of them is reached.
func limits() visitors.Limits {
	return visitors.Limits{
		Visitor: schemas.Rate{Count: 3, Per: time.Minute}, Address: schemas.Rate{Count: 60, Per: time.Minute}, All: schemas.Rate{Count: 450, Per: time.Minute},
	}
}

func TestCrowd_FindsNothingWrong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFront(limits(), "")
		crowd, err := visitors.New(of(f))
		if err != nil {
			t.Fatal(err)
		}
		r := crowd.Run(t.Context())
		if wrong := r.Wrong(); len(wrong) > 0 {
			t.Errorf("%s\n%s", strings.Join(wrong, "\n"), r)
		}
		refused := 0
		for _, c := range r.Limits {
			refused += c.Refused
			if c.Windows < 3 || c.Let != c.Allowed {
				t.Errorf("limit %s: %+v", c.Name, c)
			}
		}
		if refused != f.refused || r.Asked != r.Answered+refused || r.Answered != len(f.turns) || r.Tried < 500 {
			t.Errorf("the front refused %d and answered %d:\n%s", f.refused, len(f.turns), r)
		}
	})
}

func TestCrowd_FindsWhatIsSpoilt(t *testing.T) {
	for spoilt, want := range map[string]string{
		"more":    "4 questions let through",
		"fewer":   "58 questions let through",
		"address": "questions let through in 3m",
		"shared":  "/embed/export holds [visitor",
		"turns":   "/feedback: 200 OK",
		"lost":    "is not there",
	} {
		t.Run(spoilt, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := limits()
				l.All = schemas.Rate{} // it would hide what the others let through
				crowd, err := visitors.New(of(newFront(l, spoilt)))
				if err != nil {
					t.Fatal(err)
				}
				r := crowd.Run(t.Context())
				if wrong := strings.Join(r.Wrong(), "\n"); !strings.Contains(wrong, want) {
					t.Errorf("%q is not in:\n%s\n%s", want, wrong, r)
				}
			})
		})
	}
}

func TestNew_NamesWhatIsWrong(t *testing.T) {
	for want, change := range map[string]func(*visitors.Config){
		"at least one host":         func(c *visitors.Config) { c.Hosts = nil },
		"2 visitors of 2 addresses": func(c *visitors.Config) { c.Visitors, c.Addresses = 2, 2 },
		"above zero":                func(c *visitors.Config) { c.Every = 0 },
	} {
		cfg := of(newFront(limits(), ""))
		change(&cfg)
		if _, err := visitors.New(cfg); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}
