// Package language tells Vietnamese from English in code, with and without
// diacritics.
//
// It owns the word lists and the scoring behind that decision and nothing else: it
// asks no model, keeps no state between calls and knows nothing of turns. Whoever
// gets an unsure answer may ask a model.
package language
