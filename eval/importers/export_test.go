package importers

// CategoryOf returns the category in an id, for black-box tests.
func CategoryOf(id string) string { return categoryOf(id) }
