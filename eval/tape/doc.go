// Package tape reads and writes tapes: append-only files of JSON lines with a header and
// then one record for each event of a conversation, as it crossed the two edges of the host.
//
// [Read] refuses what is broken, and tells what happened, turn by turn. [Writer] is for those
// who record, [Builder] for tapes that nobody recorded; [Join] makes one tape of those of
// several turns. The package knows no case and no expectation.
package tape
