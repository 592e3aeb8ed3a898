// Package tape reads and writes tapes: append-only files of JSON lines with a header and
// then one record for each event of a conversation, as it crossed the two edges of the host.
//
// [Read] yields the records and refuses what is broken, [Tell] tells what happened, turn by
// turn. [Writer] is for those who record, [Builder] for tapes that nobody recorded; [Split]
// takes the tape of a server apart. The package knows no case and no expectation.
package tape
