package host

import (
	"errors"
	"fmt"
	"log/slog"

	"molar/agent/offer"
	"molar/internal/config"
	"molar/internal/skills"
)

// openSkills reads the skills of the assistants that have folders of them.
func openSkills(cfg *config.Config, log *slog.Logger) (map[string]offer.SkillLibrary, error) {
	all := make(map[string]offer.SkillLibrary)
	err := eachSkills(cfg, log, func(assistant string, library *skills.Library) { all[assistant] = library })
	return all, err
}

// eachSkills reads the skills of each assistant that has folders of them. The error names the folders that are
// not there.
func eachSkills(cfg *config.Config, log *slog.Logger, found func(assistant string, library *skills.Library)) error {
	var missing []error
	for _, e := range cfg.Assistants {
		if len(e.Value.Skills) == 0 {
			continue
		}
		library, err := skills.New(skills.Config{Folders: e.Value.Skills, Logger: log.With("assistant", e.Name)})
		if err != nil {
			missing = append(missing, fmt.Errorf("assistant %q: %w", e.Name, err))
			continue
		}
		found(e.Name, library)
	}
	return errors.Join(missing...)
}

// A SkillStatus is what was read of the skills of an assistant.
type SkillStatus struct {
	Assistant string
	// Skills is how many there are, LeftOut a line for each that is left out.
	Skills  int
	LeftOut []string
}

// SkillsOf reads the skills of each assistant that has folders of them. The error has a line for each that has a
// folder which is not there.
func SkillsOf(cfg *config.Config) (all []SkillStatus, err error) {
	err = eachSkills(cfg, slog.New(slog.DiscardHandler), func(assistant string, library *skills.Library) {
		all = append(all, SkillStatus{assistant, len(library.Skills()), library.LeftOut()})
	})
	return all, err
}
