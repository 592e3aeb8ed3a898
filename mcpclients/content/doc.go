// Package content reads what servers answer: the results of tools and the contents of
// resources and prompts, as text and links.
package content
