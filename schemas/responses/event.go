package responses

// An Event is a stream event, with a response as R and an item as I. Its type decides which fields
// are set.
type Event[R, I any] struct {
	Type         string      `json:"type"`
	Sequence     int         `json:"sequence_number"`
	Response     *R          `json:"response,omitempty"`
	ItemID       string      `json:"item_id,omitempty"`
	OutputIndex  *int        `json:"output_index,omitempty"`
	ContentIndex *int        `json:"content_index,omitempty"`
	SummaryIndex *int        `json:"summary_index,omitempty"`
	CitationNo   *int        `json:"annotation_index,omitempty"`
	Item         I           `json:"item,omitempty"`
	Part         any         `json:"part,omitempty"`
	Delta        *string     `json:"delta,omitempty"`
	Text         *string     `json:"text,omitempty"`
	Refusal      *string     `json:"refusal,omitempty"`
	Arguments    *string     `json:"arguments,omitempty"`
	Logprobs     *[]struct{} `json:"logprobs,omitempty"`
	Annotation   *Citation   `json:"annotation,omitempty"`
	Error        *EventError `json:"error,omitempty"`
	// Molar is the data of an event type of our own.
	Molar any `json:"molar,omitempty"`
}

// An EventError is the content of an error event.
type EventError struct {
	Type    string  `json:"type"`
	Code    *string `json:"code"`
	Message string  `json:"message"`
	Param   *string `json:"param"`
}
