package subject

//go:generate go run ./train talk
//go:generate go run ./train
