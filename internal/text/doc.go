// Package text analyses Vietnamese and English as people type them, with or without diacritics:
// folding, words with the pauses between them, plural forms, and phrases. It also suggests the name
// that a misspelled one means, and prepares texts of servers for display: shortened, and without
// invisible characters.
//
// It contains no word lists; callers provide them.
package text
