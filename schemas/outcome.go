package schemas

// An Outcome is how a turn ended, for those who review turns.
type Outcome string

// The outcomes. A turn has the first one that applies to it.
const (
	// OutcomeRefused: the guardrail refused the question. Its text is not kept.
	OutcomeRefused Outcome = "refused"
	OutcomeFailed  Outcome = "failed"
	// OutcomeInterrupted: somebody, or the end of the host, cut the answer short.
	OutcomeInterrupted Outcome = "interrupted"
	// OutcomeEmergency: the question describes an emergency.
	OutcomeEmergency Outcome = "emergency"
	// OutcomeUnapproved: a call needed a person's approval and did not get it.
	OutcomeUnapproved Outcome = "unapproved"
	// OutcomeNotFound: the turn looked something up, and every search came back without a result.
	OutcomeNotFound Outcome = "not_found"
	OutcomeDone     Outcome = "done"
)

// Outcomes returns all outcomes.
func Outcomes() []Outcome {
	return []Outcome{OutcomeRefused, OutcomeFailed, OutcomeInterrupted, OutcomeNotFound, OutcomeUnapproved, OutcomeEmergency, OutcomeDone}
}
