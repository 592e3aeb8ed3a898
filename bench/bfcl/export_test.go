package bfcl

// CategoryOf returns the category in an id.
func CategoryOf(id string) string { return categoryOf(id) }
