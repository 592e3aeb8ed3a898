package subject

//go:generate go run ./learn/generate
