// Package learn learns from labelled lines what code decides of a message: whether it belongs to a
// topic, whether it describes an emergency, whether an answer keeps to the topic, and, for all topics
// alike, what a message needs of its conversation. It writes tables of weights, which package subject
// reads, and a card of measured figures.
//
// [Train] learns a pack, [Guard] the examples of a topic that a config holds, and [Measure] judges
// given lines. Everything that is measured or chosen is so on lines that were left out of the
// training together with their whole group or writer.
package learn
