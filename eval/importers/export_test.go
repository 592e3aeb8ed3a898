package importers

// The readers of the formats, for black-box tests; programs call [Read].

// OpenAI reads conversations as OpenAI messages.
func OpenAI(name string, data []byte) ([]Imported, error) { return readOpenAI(name, data) }

// Cassette reads a cassette of a VCR.
func Cassette(name string, data []byte) ([]Imported, error) {
	return readExchanges("cassette")(name, data)
}

// Pairs reads request and response pairs.
func Pairs(name string, data []byte) ([]Imported, error) { return readExchanges("pairs")(name, data) }
