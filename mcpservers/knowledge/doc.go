// Package knowledge searches folders of documents.
//
// A file is cut into passages by its headings. An in-memory index finds those with the rarest
// words of a question, or others of the same sense; the best of them are then ranked by their words
// and word pairs, and the first is judged by how much of the question it contains. The index learns only
// from the folder how informative a word is, which words belong to the subject, and how much suffices.
// Changed files are reindexed while questions are answered. The package depends on no subject and no model.
package knowledge
