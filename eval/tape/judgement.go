package tape

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A Judgement is a verdict of a judge on the answer of a turn. It counts only for the rubric and the
// texts that its hashes name.
type Judgement struct {
	// Turn is that of the record.
	Turn int `json:"-"`
	// Kind is the kind of check: judge, grounded or like.
	Kind string `json:"kind"`
	// Rubric is a hash of what was to be checked. Question, Answer and, for grounded, Results are
	// hashes of what was judged, after redaction.
	Rubric   string `json:"rubric"`
	Question string `json:"question"`
	Answer   string `json:"answer"`
	Results  string `json:"results,omitempty"`
	// Provider and Model judged.
	Provider string `json:"provider"`
	Model    string `json:"model"`
	// Verdict is pass or fail.
	Verdict string `json:"verdict"`
	Reason  string `json:"reason"`
	// Sha is a hash of the fields above. It shows damage, and an edit by hand of a verdict or its
	// reason. It has no key, so it does not stop anybody who computes it anew.
	Sha string `json:"sha"`
}

// seal returns the hash of all fields but Sha.
func (j *Judgement) seal() string {
	return sha(strings.Join([]string{
		strconv.Itoa(j.Turn), j.Kind, j.Rubric, j.Question, j.Answer, j.Results, j.Provider, j.Model, j.Verdict, j.Reason,
	}, "\x00"))
}

// Judge writes a verdict on the answer of a turn.
func (r *Recorder) Judge(j Judgement) {
	j.Reason = r.redact.Text(j.Reason)
	j.Sha = j.seal()
	r.w.Write(&Record{Type: TypeJudge, Turn: j.Turn, Judge: &j})
}

// judgement validates a verdict: it is whole, of a turn before it, and the only one for its rubric.
func (in *reader) judgement(r *Record) error {
	j := r.Judge
	if j == nil {
		return errors.New("a verdict without its text")
	}
	j.Turn = r.Turn
	switch {
	case r.Turn < 1 || r.Turn > len(in.t.Turns):
		return fmt.Errorf("a verdict on turn %d, which has not begun", r.Turn)
	case j.Verdict != "pass" && j.Verdict != "fail":
		return fmt.Errorf("the verdict on turn %d is %q, neither pass nor fail", r.Turn, j.Verdict)
	case j.Sha != j.seal():
		return fmt.Errorf("the verdict on turn %d was changed after it was written; remove the line, and ask again with molar eval accept --judge live", r.Turn)
	case slices.ContainsFunc(in.t.Judgements, func(o Judgement) bool { return o.Turn == j.Turn && o.Kind == j.Kind && o.Rubric == j.Rubric }):
		return fmt.Errorf("a second verdict on turn %d by the same rubric (%s)", r.Turn, j.Kind)
	}
	in.t.Judgements = append(in.t.Judgements, *j)
	return nil
}
