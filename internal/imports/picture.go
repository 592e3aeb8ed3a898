package imports

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
)

// captions returns the short descriptions of the folders in the picture.
func captions() map[string]string {
	return map[string]string{
		"cmd": "flags in, output out", "eval/run": "the eval commands", "internal/session": "the terminal application",
		"internal/setup": "molar init, molar doctor", "internal/live": "tries a model", "internal/serve": "the two ports", "internal/host": "wires the parts together", "internal/budget": "charges model calls",
		"web": "OpenAI's APIs, pages", "eval": "cases, tapes, scores", "internal/access": "keys, browsers, people", "internal/oidc": "identity providers",
		"agent": "one turn, in phases", "toolhandler": "checks and runs calls", "mcpclients": "attached MCP servers",
		"mcpservers": "memory and search", "providers": "Gemini, OpenAI, Ollama", "internal/store": "SQLite and PostgreSQL",
		"internal/config": "molar.yaml", "internal/sealed": "encryption", "internal/cli": "what commands share", "internal/documents": "text of Word, Excel, PDF", "internal/skills": "folders of skills", "internal/terminal": "lines, Markdown",
		"internal/telemetry": "metrics and spans", "internal/markdown": "Markdown of models",
		"internal/httpguard": "Host, Origin, limits", "internal/text": "words of vi and en",
		"internal/sse": "lines and events of a stream", "schemas": "types that all share", "topics": "built-in packs", "examples": "a server to try",
	}
}

// A graph holds the folders of a program and what they import.
type graph struct {
	uses   map[string]map[string]bool
	levels map[string]int
}

// Picture draws the folders of the program at root (such as cmd/molar) as an SVG, each above all
// that it imports. A folder without a caption is an error.
func Picture(module, root string, files []File) (string, error) {
	h := graph{uses: map[string]map[string]bool{}, levels: map[string]int{}}
	h.collect(module, root, files)
	for folder := range h.uses {
		if captions()[folder] == "" {
			return "", fmt.Errorf("the picture of the module has no caption for %s; see captions in internal/imports/picture.go", folder)
		}
		if _, err := h.level(folder, nil); err != nil {
			return "", err
		}
	}
	return h.draw(), nil
}

// collect adds the imports of the program's packages, without tests.
func (h *graph) collect(module, root string, files []File) {
	imported := map[string][]string{}
	for _, f := range files {
		if !f.isTest() {
			imported[path.Dir(f.Path)] = append(imported[path.Dir(f.Path)], f.Imports...)
		}
	}
	seen := map[string]bool{root: true}
	for next := []string{root}; len(next) > 0; next = next[1:] {
		from := folderOf(next[0])
		if h.uses[from] == nil {
			h.uses[from] = map[string]bool{}
		}
		for _, name := range imported[next[0]] {
			own, ok := strings.CutPrefix(name, module+"/")
			if !ok {
				continue
			}
			if folderOf(own) != from {
				h.uses[from][folderOf(own)] = true
			}
			if !seen[own] {
				seen[own] = true
				next = append(next, own)
			}
		}
	}
}

// folderOf returns the folder that represents a package in the picture: its top folder, or the one
// below internal.
func folderOf(pkg string) string {
	if within(pkg, "eval/run") { // it opens whole hosts, which import eval
		return "eval/run"
	}
	parts := strings.Split(pkg, "/")
	if parts[0] == "internal" && len(parts) > 1 {
		return "internal/" + parts[1]
	}
	return parts[0]
}

// level returns the row of a folder, counted from the bottom: 0 for a folder that imports no other.
func (h *graph) level(folder string, above []string) (int, error) {
	if slices.Contains(above, folder) {
		return 0, fmt.Errorf("folders import one another in a cycle: %s", strings.Join(append(above, folder), ", "))
	}
	if n, ok := h.levels[folder]; ok {
		return n, nil
	}
	n := 0
	for used := range h.uses[folder] {
		below, err := h.level(used, append(slices.Clone(above), folder))
		if err != nil {
			return 0, err
		}
		n = max(n, below+1)
	}
	h.levels[folder] = n
	return n, nil
}

// reaches reports whether a folder imports another, directly or through others.
func (h *graph) reaches(from, to string) bool {
	return h.uses[from][to] || slices.ContainsFunc(slices.Collect(maps.Keys(h.uses[from])), func(f string) bool { return h.reaches(f, to) })
}

// arrows returns the folders that a folder imports only directly, and not also through another
// import. It leaves out the bottom row, to keep the picture readable.
func (h *graph) arrows(from string) []string {
	var to []string
	for used := range h.uses[from] {
		through := func(other string) bool { return other != used && h.reaches(other, used) }
		if h.levels[used] > 0 && !slices.ContainsFunc(slices.Collect(maps.Keys(h.uses[from])), through) {
			to = append(to, used)
		}
	}
	slices.Sort(to)
	return to
}

// The sizes in the picture.
const (
	width, floor = 1400, 92
	boxW, boxH   = 168, 50
	style        = `<style>
.page{fill:#fff}.box{fill:#eef3fb;stroke:#33557f}.line{fill:none;stroke:#7a8aa0;stroke-width:1.4}.tip{fill:#7a8aa0}
.name{font-size:14px;font-weight:600;fill:#14202e}.what{font-size:12px;fill:#44546a}text{text-anchor:middle}
@media (prefers-color-scheme:dark){.page{fill:#0d1117}.box{fill:#1b2533;stroke:#6d8fbd}.line{stroke:#71829b}.tip{fill:#71829b}.name{fill:#e6edf3}.what{fill:#a9b6c6}}
</style>`
)

// A place is the middle of the top edge of a box.
type place struct{ x, y float64 }

func (h *graph) draw() string {
	places, height := h.places()
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" role="img" aria-label="The folders of molar, each above those that it imports">
%s
<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path class="tip" d="M0 0 8 4 0 8z"/></marker></defs>
<rect class="page" width="%d" height="%d"/>
`, width, height, style, width, height)
	folders := slices.Sorted(maps.Keys(h.uses))
	for _, from := range folders {
		a := places[from]
		for _, to := range h.arrows(from) {
			z, bend := places[to], float64(floor-boxH)
			fmt.Fprintf(&b, `<path class="line" marker-end="url(#tip)" d="M%.0f %.0fC%.0f %.0f %.0f %.0f %.0f %.0f"/>`+"\n",
				a.x, a.y+boxH, a.x, a.y+boxH+bend, z.x, z.y-bend, z.x, z.y)
		}
	}
	for _, folder := range folders {
		p := places[folder]
		fmt.Fprintf(&b, `<rect class="box" x="%.0f" y="%.0f" width="%d" height="%d" rx="7"/><text class="name" x="%.0f" y="%.0f">%s</text><text class="what" x="%.0f" y="%.0f">%s</text>`+"\n",
			p.x-boxW/2, p.y, boxW, boxH, p.x, p.y+21, folder, p.x, p.y+39, captions()[folder])
	}
	b.WriteString("</svg>\n")
	return b.String()
}

// places returns the places of the boxes: each level is a row, with the boxes below those that
// import them.
func (h *graph) places() (map[string]place, int) {
	top := slices.Max(slices.Collect(maps.Values(h.levels)))
	places := map[string]place{}
	for level := top; level >= 0; level-- {
		var row []string
		pull := map[string]float64{}
		for folder, n := range h.levels {
			if n != level {
				continue
			}
			row = append(row, folder)
			sum, count := 0.0, 0.0
			for _, user := range slices.Sorted(maps.Keys(places)) { // in order: sums of another order differ in their last bit
				if h.uses[user][folder] {
					sum, count = sum+places[user].x, count+1
				}
			}
			pull[folder] = sum / max(count, 1)
		}
		slices.SortFunc(row, func(a, b string) int { return cmp.Or(cmp.Compare(pull[a], pull[b]), cmp.Compare(a, b)) })
		for i, folder := range row {
			places[folder] = place{width * (float64(i) + 0.5) / float64(len(row)), float64(20 + (top-level)*floor)}
		}
	}
	return places, 40 + top*floor + boxH
}
