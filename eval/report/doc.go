// Package report writes the outcome of a run for people and for machines: a table for
// the terminal, JSON, JUnit XML and one HTML file.
//
// It decides nothing: statuses and numbers come from package eval.
package report
