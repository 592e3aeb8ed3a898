// Package skills reads skills: folders with a SKILL.md that says, in a head of YAML, what the skill is
// called and what it is for, and then how a task is done. A skill may hold further texts.
//
// Nothing in a skill is run, and nothing outside of its folder is read: no link leads out of it. A skill
// that cannot be read is left out, with a reason.
package skills
