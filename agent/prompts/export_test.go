package prompts

// Fence gives black-box tests the fence around foreign texts.
func Fence(source, text string) string { return fence(source, text) }
