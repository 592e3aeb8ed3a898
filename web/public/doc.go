// Package public is the assistant that anybody on the web may ask, from a frame on the operator's site.
// All of it is below /embed, and it knows nothing of keys, sessions and the people behind a proxy: its
// clients are visitors. A visitor is a random number that a browser presents, has one conversation, and
// names no other: no id of a conversation comes from a client.
//
// What leaves the package is for strangers. Its events and errors have no names of tools, servers,
// models or settings, and its texts are its own, in Vietnamese and English.
//
// A file of static may hold the mark [[settings]]: within a script as a string literal, which is
// replaced by an object with what the button needs, and within a page as the value of an attribute, which
// is replaced by the settings of the frame as JSON. The page may hold [[lang]] and [[title]] too.
package public
