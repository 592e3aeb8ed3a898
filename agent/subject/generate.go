package subject

//go:generate go run ./train
