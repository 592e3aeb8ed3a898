// Package journal keeps what a turn has done so far, so that it is not lost with its process: the
// question before the first text, each call that may have an effect before it is sent, and what was
// shown, at most a quarter of a second later. What other processes show of a running turn, and what a
// conversation keeps of a broken one, are read from it.
package journal
