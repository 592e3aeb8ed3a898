package loadgen

import (
	"testing"
	"time"
)

func TestParseProcess(t *testing.T) {
	stat := []byte("7 (a) b (c) S 1 7 7 0 -1 4194560 100 0 0 0 250 50 0 0 20 0 9 0 100 1000 50")
	status := []byte("Name:\ta) b (c\nVmRSS:\t   12345 kB\nRssAnon:\t    6789 kB\nThreads:\t9\n")
	got, err := parseProcess(stat, status)
	if want := (Process{CPU: 3 * time.Second, RSS: 12345, Anon: 6789}); err != nil || got != want {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
}

func TestParseProcess_RefusesNonsense(t *testing.T) {
	for _, stat := range []string{"", "7 (a)", "7 (a) S 1 2 3 4 5 6 7 8 9 10 x 12", "7 (a) S 1 2 3 4 5 6 7 8 9 10 11 x"} {
		if got, err := parseProcess([]byte(stat), nil); err == nil {
			t.Errorf("%q: got %+v", stat, got)
		}
	}
}

func TestReadProcess_NamesWhatIsMissing(t *testing.T) {
	if _, err := ReadProcess(1 << 30); err == nil {
		t.Error("no error for a process that does not exist")
	}
}

func TestPercentile(t *testing.T) {
	var values []time.Duration
	for i := range 200 {
		values = append(values, time.Duration(200-i)*time.Millisecond)
	}
	if got := [3]float64{percentile(values, 50), percentile(values, 99), percentile(values[:1], 99)}; got != [3]float64{100, 198, 200} {
		t.Errorf("got %v", got)
	}
}
