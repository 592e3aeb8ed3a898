package schemas

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// A Rate allows Count actions in a time that begins with the first of them; the zero Rate has no limit.
// Its text is such as "20/h", "5/m", "2000/d" or "10/15m", and "none" for no limit.
type Rate struct {
	Count int
	Per   time.Duration
}

// unlimited is the text of the zero [Rate].
const unlimited = "none"

// maxRate is the longest time of a rate.
const maxRate = 31 * 24 * time.Hour

// A rateUnit is a unit of the time of a rate.
type rateUnit struct {
	name string
	time time.Duration
}

// rateUnits returns the units, the longest first.
func rateUnits() []rateUnit {
	return []rateUnit{{"d", 24 * time.Hour}, {"h", time.Hour}, {"m", time.Minute}, {"s", time.Second}}
}

// UnmarshalText implements [encoding.TextUnmarshaler]. The count is 1 or more, and the time from a second
// to 31 days.
func (r *Rate) UnmarshalText(text []byte) error {
	if string(text) == unlimited {
		*r = Rate{}
		return nil
	}
	count, per, _ := strings.Cut(string(text), "/")
	n, err := strconv.ParseUint(count, 10, 31)
	for _, unit := range rateUnits() {
		number, ok := strings.CutSuffix(per, unit.name)
		if !ok || err != nil || n == 0 {
			continue
		}
		times, err := strconv.Atoi(cmp.Or(number, "1"))
		if err == nil && times > 0 && times <= int(maxRate/unit.time) {
			*r = Rate{Count: int(n), Per: time.Duration(times) * unit.time}
			return nil
		}
	}
	return errors.New(`want a number in a time such as "20/h", "5/m" or "2000/d", or "none" for no limit`)
}

// MarshalText implements [encoding.TextMarshaler].
func (r Rate) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// String returns the text of the rate.
func (r Rate) String() string {
	for _, unit := range rateUnits() {
		switch times := r.Per / unit.time; {
		case r.Count == 0 || r.Per%unit.time != 0:
		case times == 1:
			return fmt.Sprintf("%d/%s", r.Count, unit.name)
		default:
			return fmt.Sprintf("%d/%d%s", r.Count, times, unit.name)
		}
	}
	return unlimited
}
