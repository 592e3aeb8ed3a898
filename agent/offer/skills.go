package offer

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"molar/internal/text"
	"molar/schemas"
	"molar/toolhandler"
)

// ReadSkill is the name of the host's tool that reads skills.
const ReadSkill = schemas.ReadSkill

// maxNear is how many skills an error names, and find_tools finds.
const maxNear = 5

// SkillLibrary reads the skills of an assistant.
type SkillLibrary interface {
	// Skills returns those that there are, by name.
	Skills() []schemas.Skill
	// Read returns the text of a skill, or of a file in its folder. A model reads the error.
	Read(name, file string) (string, error)
}

// Skills are the skills of an assistant in one turn. A nil one has none.
type Skills struct {
	library SkillLibrary
	rank    func(words string) []Ranked
	// The system prompt names those that are shown; find_tools finds the rest.
	shown, rest []schemas.Skill
}

// NewSkills returns the skills of a library; nil if it has none. Those whose lines fit into so many bytes
// are shown, in the order of their names, so that the lines of a conversation stay the same.
func NewSkills(library SkillLibrary, rank Ranker, bytes int) *Skills {
	all := library.Skills()
	if len(all) == 0 {
		return nil
	}
	s := &Skills{library: library}
	fit := 0
	for ; fit < len(all); fit++ {
		if bytes -= len(skillLine(all[fit])) + 1; bytes < 0 {
			break
		}
	}
	s.shown, s.rest = all[:fit], all[fit:]
	s.rank = func(words string) []Ranked { return rank(asTools(all))(words) } // few turns need it
	return s
}

// asTools returns skills as a ranker of tools knows them.
func asTools(skills []schemas.Skill) []schemas.ToolInfo {
	infos := make([]schemas.ToolInfo, len(skills))
	for i, s := range skills {
		infos[i] = schemas.ToolInfo{Name: s.Name, ToolName: s.Name, Description: s.Description}
	}
	return infos
}

func skillLine(s schemas.Skill) string { return s.Name + ": " + s.Description }

// Shown returns the skills that the system prompt names.
func (s *Skills) Shown() []schemas.Skill {
	if s == nil {
		return nil
	}
	return s.shown
}

// Names returns the names of the shown skills.
func (s *Skills) Names() []string {
	var names []string
	for _, k := range s.Shown() {
		names = append(names, k.Name)
	}
	return names
}

// More returns how many skills only find_tools finds.
func (s *Skills) More() int {
	if s == nil {
		return 0
	}
	return len(s.rest)
}

// tools returns the tool that reads skills, if there are any.
func (s *Skills) tools() []schemas.ToolInfo {
	if s == nil {
		return nil
	}
	return []schemas.ToolInfo{readSkill()}
}

// finder returns what finds the skills that are not shown, where all tools are offered; nil if there are none.
func (s *Skills) finder() *Finder {
	if s.More() == 0 {
		return nil
	}
	return &Finder{rank: func(string) []Ranked { return nil }, skills: s, space: unbounded()}
}

// Tool returns the tool that reads skills.
func (s *Skills) Tool() toolhandler.HostTool {
	return toolhandler.HostTool{Info: readSkill(), Call: s.read, Own: true}
}

func readSkill() schemas.ToolInfo {
	return schemas.ToolInfo{
		Name: ReadSkill, ToolName: ReadSkill,
		Description: "Reads a skill: how a certain task is to be done here. It returns the text of the skill, or of another file that this text names. Nothing is run.",
		InputSchema: json.RawMessage(`{"type":"object","properties":{"name":{"type":"string","description":"The skill"},` +
			`"file":{"type":"string","description":"A file of the skill by its path, such as references/more.md; without it the text of the skill is read"}},"required":["name"],"additionalProperties":false}`),
	}
}

func (s *Skills) read(_ context.Context, args json.RawMessage) (schemas.ToolResult, error) {
	var in struct {
		Name string `json:"name"`
		File string `json:"file"`
	}
	if err := json.Unmarshal(args, &in); err != nil {
		return schemas.ToolResult{}, fmt.Errorf("read the arguments: %w", err)
	}
	if !slices.ContainsFunc(s.all(), func(k schemas.Skill) bool { return k.Name == in.Name }) {
		return fault("there is no skill %q; the nearest are: %s", in.Name, strings.Join(s.near(in.Name), ", ")), nil
	}
	said, err := s.library.Read(in.Name, in.File)
	if err != nil {
		return fault("%v", err), nil
	}
	return schemas.ToolResult{Output: schemas.TextOutput(said)}, nil
}

func (s *Skills) all() []schemas.Skill { return slices.Concat(s.shown, s.rest) }

// near returns the names of the skills that a wrong name may mean: the one that is written most like it, then
// those whose words fit it, or else the first ones.
func (s *Skills) near(name string) []string {
	var names []string
	for _, k := range s.all() {
		names = append(names, k.Name)
	}
	var near []string
	if best := text.Nearest(name, names); best != "" {
		near = append(near, best)
	}
	for _, k := range s.find(strings.NewReplacer("-", " ", "_", " ").Replace(name)) {
		if !slices.Contains(near, k.Name) {
			near = append(near, k.Name)
		}
	}
	if len(near) == 0 {
		near = names
	}
	return near[:min(maxNear, len(near))]
}

// find returns the skills that fit some words, best first.
func (s *Skills) find(words string) (found []schemas.Skill) {
	if s == nil {
		return nil
	}
	all, scores := s.all(), s.literal(words)
	for _, r := range s.rank(words) {
		scores[r.Name] += r.Score
	}
	slices.SortStableFunc(all, func(a, b schemas.Skill) int { return cmp.Compare(scores[b.Name], scores[a.Name]) })
	for _, k := range all {
		if scores[k.Name] > 0 && len(found) < maxNear {
			found = append(found, k)
		}
	}
	return found
}

// literal scores the skills by the words themselves, the rare ones most: a ranker of tools takes Vietnamese words
// for English ones, but skills are written in the language of their operator.
func (s *Skills) literal(words string) map[string]float64 {
	having := make(map[string][]string) // the skills by their words
	for _, k := range s.all() {
		of := stems(k.Name + " " + k.Description)
		slices.Sort(of)
		for _, w := range slices.Compact(of) {
			having[w] = append(having[w], k.Name)
		}
	}
	scores, wanted := make(map[string]float64), stems(words)
	slices.Sort(wanted)
	for _, w := range slices.Compact(wanted) {
		for _, name := range having[w] {
			scores[name] += math.Log(float64(1+len(s.shown)+len(s.rest)) / float64(len(having[w])))
		}
	}
	return scores
}

// foundLines returns the skills that fit some words as lines for a model.
func (s *Skills) foundLines(words string) (lines []string) {
	for _, k := range s.find(words) {
		lines = append(lines, skillLine(k))
	}
	return lines
}
