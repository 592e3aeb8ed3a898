// Package text reads Vietnamese and English as people type them, with marks and without:
// folding, words with the pauses between them, plural forms, sentences, and phrases. It finds
// the name that a misspelled one means, and makes texts of servers fit to be shown: bounded,
// and without characters that a person would not see.
//
// It knows no subject and holds no word lists: those are data of its callers.
package text
