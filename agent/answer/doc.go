// Package answer writes a turn's output: all of it passes here. Its [Speaker] yields the events,
// gathers the text, and holds text back as long as the checks of an answer need it: the watch over
// the subject, quotations of the system prompt, links, and sentences that order a model.
//
// [Event] and its kinds are what readers of a turn see; a [Collector] gathers a whole turn from
// them. The list of sources names only pages from tool results, never those that a model made up.
// The [Tracer] records what a turn did and why; a turn decides nothing by it.
package answer
