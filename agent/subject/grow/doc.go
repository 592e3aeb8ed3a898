// Package grow makes a topic's pack: it begins one from a description, and lets a model write the
// labelled lines that package learn learns from. Every line keeps who wrote it, and lines of
// emergencies are learned only after a person has seen them.
package grow
