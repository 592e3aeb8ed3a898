package subject

// The topic is read with the other tables, which are part of the program: it is learned by a program
// that holds them as they are now.
//
//go:generate go run ./learn/generate talk letters
//go:generate go run ./learn/generate topic
