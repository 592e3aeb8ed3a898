// Package text reads Vietnamese and English as people type them, with marks and without:
// folding, words with the pauses between them, plural forms, sentences, and phrases.
//
// It knows no subject and holds no word lists: those are data of whoever uses it.
package text
