package schemas

// ReadSkill is the host's tool that reads skills.
const ReadSkill = "read_skill"

// A Skill is how the operator wants a task done. Its text is read when the task comes up.
type Skill struct {
	// Name is of small letters, digits and hyphens.
	Name string
	// Description says in one line what the skill is for.
	Description string
}
