package eval

// NewShare gives black-box tests the interval of a share.
func NewShare(hits, total int) Share { return newShare(hits, total) }

// NewReport gives black-box tests the summary of results.
func NewReport(results []CaseResult) *Report { return newReport(results) }
