// Package knowledge searches folders of Markdown, HTML and plain text.
//
// A file is cut into passages by its headings. An index in memory finds those that hold the
// rarest words of a question; the best of them are then read again and scored by how much of
// the question they hold, and how near together. Files that change are indexed anew while
// questions are answered. It knows no subject and no model.
package knowledge
