// Package markdown reads the Markdown that models write: CommonMark with tables,
// strikes, task lists, bare links, formulas and footnotes, and finds which blocks of a
// stream are complete. The pages and the terminal share it, so that both cut a stream
// alike. It finds the parts of code that are coloured (comments, strings, numbers, keywords),
// line by line, as an answer comes.
//
// What it reads is not trusted, and a formula stays the source that it is.
package markdown
