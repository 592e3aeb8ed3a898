package wire

// Unseen notes for a model that files of a tool's result are not shown.
const Unseen = "[Files of this result cannot be shown to you.]"
