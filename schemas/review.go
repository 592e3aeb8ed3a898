package schemas

import "time"

// Who marked an answer.
const (
	MarkedByPerson   = "person"
	MarkedByReviewer = "reviewer"
)

// MaxListedQuestion is how much of a question a list of turns shows, in characters.
const MaxListedQuestion = 200

// A ListedTurn is a turn in a list of those of many people.
type ListedTurn struct {
	ID             string `json:"id"`
	ConversationID string `json:"conversation_id"`
	// Person is a pseudonym that lasts for the conversation. With review.people it is the person's id, and
	// Name what they are called, if that is known.
	Person    string  `json:"person"`
	Name      string  `json:"name,omitempty"`
	Assistant string  `json:"assistant"`
	Outcome   Outcome `json:"outcome"`
	// Reason is why the guardrail refused the question.
	Reason string `json:"reason,omitempty"`
	// Mark and Note are those of a reviewer, else those of the person; MarkedBy says whose.
	Mark     string `json:"mark"`
	Note     string `json:"note"`
	MarkedBy string `json:"marked_by,omitempty"`
	// Question is its beginning; nil for a refused turn, whose text is not kept.
	Question *string   `json:"question"`
	Tools    []string  `json:"tools"`
	At       time.Time `json:"at"`
	// Made is what reviewers made of the turn, the oldest first; only reviewers get it.
	Made []MadeFile `json:"made,omitempty"`
	// Owner is never sent.
	Owner string `json:"-"`
	// Corrected is when a reviewer last wrote the right answer to it, zero if nobody did. It is never sent.
	Corrected time.Time `json:"-"`
}

// A TurnFilter selects turns; empty fields select all.
type TurnFilter struct {
	// Owner selects the turns of one owner.
	Owner     string
	Outcomes  []Outcome
	Assistant string
	// Assistants are those whose turns may be selected; nil means all, an empty list none.
	Assistants []string
	// Marked is "up", "down", or "any".
	Marked string
	Since  time.Time
	// After is the cursor of the previous page. Limit is required.
	After string
	Limit int
}

// A Gap is a group of similar questions that nobody could answer.
type Gap struct {
	// Words are what most of its questions have in common; none for refused questions, whose text is
	// not kept.
	Words     []string     `json:"words"`
	Count     int          `json:"count"`
	Assistant string       `json:"assistant"`
	Reason    string       `json:"reason,omitempty"`
	Last      time.Time    `json:"last"`
	Examples  []GapExample `json:"examples"`
}

// A GapExample is one question of a [Gap].
type GapExample struct {
	Turn     string `json:"turn"`
	Question string `json:"question"`
}

// A TurnTest is a test that was made of a turn.
type TurnTest struct {
	// Case is the id of the case.
	Case string `json:"case"`
	// Files are the paths of what was written, or, without a folder for tests, the files themselves.
	Files []TestFile `json:"files"`
	// Command asks the question again, of the assistant as it is now.
	Command string `json:"command"`
}

// A TestRun is what came of asking the questions of a test again.
type TestRun struct {
	Case   string `json:"case"`
	Passed bool   `json:"passed"`
	// Answer is the answer to the last question.
	Answer  string       `json:"answer"`
	Reasons []TestReason `json:"reasons"`
}

// The codes of a [TestReason].
const (
	// ReasonSameAnswer: the answer that was marked down came again.
	ReasonSameAnswer = "same_answer"
	// ReasonSameEnd: the turn ended again as the one that was marked down: it found nothing, for example.
	ReasonSameEnd = "same_end"
	// ReasonNotUsed: the answer that a reviewer wrote was not found by the question.
	ReasonNotUsed = "correction_not_used"
	// ReasonCheck: an expectation of the test does not hold; Text says which.
	ReasonCheck = "check"
)

// A TestReason is why a test is red.
type TestReason struct {
	Code string `json:"code"`
	Text string `json:"text"`
}

// A TestFile is a file of a test. Content is empty if it was written to Path.
type TestFile struct {
	Path, Content string
}

// A Correction is the right answer to a question, as a person wrote it.
type Correction struct {
	Question string   `json:"question"`
	Answer   string   `json:"answer"`
	Sources  []string `json:"sources"`
	// Assistant answered the question, in the turn TurnID.
	Assistant string `json:"-"`
	TurnID    string `json:"-"`
}

// A WrittenCorrection is where a correction was written, and its text. File is empty if no folder takes
// corrections.
type WrittenCorrection struct {
	File string `json:"file,omitempty"`
	Text string `json:"text"`
}

// The kinds of a [MadeFile].
const (
	MadeTest       = "test"
	MadeCorrection = "correction"
)

// A MadeFile is a file that a reviewer made of a person's turn, and that keeps the person's words.
type MadeFile struct {
	TurnID string `json:"turn"`
	Kind   string `json:"kind" jsonschema:"enum=test,enum=correction"`
	// Path is empty if the reviewer got the text, as no folder takes such files.
	Path   string    `json:"path,omitempty"`
	MadeAt time.Time `json:"made_at"`
}

// An UntestableError is why no test can be made of a turn, and the remedy.
type UntestableError string

func (e UntestableError) Error() string { return string(e) }

// A CursorError is a cursor that no list returned.
type CursorError string

func (e CursorError) Error() string {
	return "the cursor is not one that this list returned; leave it out for the first page"
}
