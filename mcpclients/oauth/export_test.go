package oauth

// IsScope gives black-box tests the check of a scope.
func IsScope(text string) bool { return isScope(text) }
