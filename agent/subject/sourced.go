package subject

import (
	"slices"
	"strconv"
	"strings"
)

// onlyFromSources is the section with the kinds of statements that must stand in a source.
const onlyFromSources = "only from sources"

// sourced reads what an answer may only take from a source. Each list needs a kind that uses it, and doses and
// log-ins need their lists.
func (r *packReader) sourced(sections map[string]Section) Sourced {
	var s Sourced
	known := []string{Doses, Numbers, Addresses, LogIns}
	for _, kind := range sections[onlyFromSources].List() {
		switch {
		case !slices.Contains(known, kind):
			r.fault(TopicFile, `"# %s": there is no kind %q%s: there are %s`, onlyFromSources, clip(kind, maxQuoted), didYouMean(kind, known), strings.Join(known, ", "))
		case slices.Contains(s.Kinds, kind):
			r.fault(TopicFile, `"# %s": %s stands twice: take one out`, onlyFromSources, kind)
		default:
			s.Kinds = append(s.Kinds, kind)
		}
	}
	if _, there := sections[onlyFromSources]; there && len(s.Kinds) == 0 {
		r.fault(TopicFile, `"# %s" is empty: write %s, or take the section out`, onlyFromSources, strings.Join(known, ", "))
	}
	for _, list := range []struct {
		name  string
		kinds []string
		needs bool
	}{
		{"doses", []string{Doses}, true}, {"log-ins", []string{LogIns}, true}, {"units", []string{Numbers}, false}, {"number words", []string{Doses, Numbers}, false},
	} {
		_, there := sections[list.name]
		used := slices.ContainsFunc(list.kinds, func(kind string) bool { return slices.Contains(s.Kinds, kind) })
		switch {
		case there && !used:
			r.fault(TopicFile, `nothing uses "# %s": write %s below "# %s", or take the section out`, list.name, strings.Join(list.kinds, " or "), onlyFromSources)
		case !there && used && list.needs:
			r.fault(TopicFile, `"# %s" names %s, and there is no section "# %s": write it, or take the kind out`, onlyFromSources, list.kinds[0], list.name)
		}
	}
	s.Doses, s.Units = r.rows(sections["doses"]), r.rows(sections["units"])
	s.LogIns = r.entries(TopicFile, "log-ins", sections["log-ins"].List())
	for _, row := range r.rows(sections["number words"]) {
		if _, err := strconv.ParseFloat(row[0], 64); err != nil || len(row) < 2 {
			r.fault(TopicFile, `"# number words": %q is no number with its words: write lines such as "2, two"`, clip(strings.Join(row, ", "), maxQuoted))
			continue
		}
		s.Count = append(s.Count, row)
	}
	return s
}

// rows returns the lines of a section, each a list.
func (r *packReader) rows(s Section) [][]string {
	r.entries(TopicFile, s.Name, s.Lines)
	var rows [][]string
	for _, line := range s.Lines {
		if row := split(line, ","); len(row) > 0 {
			rows = append(rows, row)
		}
	}
	return rows
}
