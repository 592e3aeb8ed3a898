package cli

import (
	"runtime/debug"
	"testing"
)

func TestBuildVersion(t *testing.T) {
	checkout := []debug.BuildSetting{
		{Key: "vcs.revision", Value: "0123456789abcdef"},
		{Key: "vcs.time", Value: "2026-01-02T03:04:05Z"},
	}
	const commit = " commit 0123456789ab 2026-01-02T03:04:05Z"
	tests := []struct {
		name, module string
		settings     []debug.BuildSetting
		version      string
		commit       string
	}{
		{"a tag", "v1.2.3", checkout, "v1.2.3", commit},
		{"a tag, with changes", "v1.2.3+dirty", append(checkout, debug.BuildSetting{Key: "vcs.modified", Value: "true"}), "v1.2.3+dirty", commit + " (modified)"},
		{"a tag of a first version", "v2.0.0-rc.1", nil, "v2.0.0-rc.1", ""},
		{"no tag yet", "v0.0.0-20260102030405-0123456789ab", checkout, "devel", commit},
		{"a commit behind a tag", "v1.2.4-0.20260102030405-0123456789ab+dirty", checkout, "devel", commit},
		{"a build that knows nothing", "(devel)", nil, "devel", ""},
		{"no module", "", nil, "devel", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			version, commit := buildVersion(&debug.BuildInfo{Main: debug.Module{Version: tt.module}, Settings: tt.settings})
			if version != tt.version || commit != tt.commit {
				t.Errorf("version %q, commit %q; want %q, %q", version, commit, tt.version, tt.commit)
			}
		})
	}
}
