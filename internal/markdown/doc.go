// Package markdown parses the Markdown that models write: CommonMark with tables, strikethrough,
// task lists, bare links, formulas and footnotes. It also finds which blocks of a stream are
// complete, so that the pages and the terminal split a stream in the same way, and the parts of
// code to highlight (comments, strings, numbers, keywords), line by line while an answer arrives.
//
// Its input is untrusted. Formulas are not rendered: the page draws them, the terminal shows their source.
package markdown
