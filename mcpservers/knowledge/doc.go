// Package knowledge searches folders of Markdown, HTML and plain text.
//
// A file is cut into passages by its headings. An index in memory finds those that hold the
// rarest words of a question, or their synonyms; the best of them are then read again, ranked by
// their words and pairs of words, and judged by how much of the question they hold. How much a
// word says, and which are of the subject, the index learns from the folder alone. Files that
// change are indexed anew while questions are answered. It knows no subject and no model.
package knowledge
