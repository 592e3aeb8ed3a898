// Package knowledge searches folders of documents.
//
// A file is cut into passages by its headings. An in-memory index finds those with the rarest
// words of a question, or their synonyms; the best of them are then reread, ranked by their words
// and word pairs, and judged by how much of the question they contain. The index learns only from
// the folder how informative a word is and which words belong to the subject. Changed files are
// reindexed while questions are answered. The package depends on no subject and no model.
package knowledge
