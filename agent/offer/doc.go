// Package offer decides which tools of the attached servers a model may call in a turn, and
// gives a reason for each of the others.
//
// Tools are ranked by how well their words fit the question, in English or Vietnamese, with
// diacritics or without; the ranking calls no model. read_result and read_resource return the rest
// of a result that was too long to show.
package offer
