// Package live tries the model that a person has: some twenty small conversations that show
// whether it calls tools well, uses what they return, keeps to a form and a language, judges, and
// how long a prompt it can read. Its calls go through the provider's chain and carry the prompts
// of turns, so that a turn gets what a check got.
//
// The package decides what is asked and how an answer is rated; it prints nothing and reads no
// settings.
package live
