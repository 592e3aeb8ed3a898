package providers

// A Purpose is what a text is embedded for. Models tell the texts that are searched from the questions.
type Purpose string

// The purposes of a vector.
const (
	PurposeDocument Purpose = "document"
	PurposeQuestion Purpose = "question"
)
