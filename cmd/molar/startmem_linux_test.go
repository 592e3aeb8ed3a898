package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Dropping a page that differs from the file would lose what was written to it.
func TestCodeMappings(t *testing.T) {
	const clean, dirty = "Rss: 8 kB\nAnonymous: 0 kB\nLocked: 0 kB\n", "Rss: 8 kB\nAnonymous: 4 kB\nLocked: 0 kB\n"
	tests := map[string]struct {
		smaps string
		want  []mapping
	}{
		"code":          {"00400000-00402000 r-xp 00000000 fd:00 1 /opt/molar\n" + clean, []mapping{{0x400000, 0x2000}}},
		"written to":    {"00400000-00402000 r-xp 00000000 fd:00 1 /opt/molar\n" + dirty, nil},
		"data":          {"00400000-00402000 rw-p 00000000 fd:00 1 /opt/molar\n" + clean, nil},
		"constants":     {"00400000-00402000 r--p 00000000 fd:00 1 /opt/molar\n" + clean, []mapping{{0x400000, 0x2000}}},
		"relocated":     {"00400000-00402000 r--p 00000000 fd:00 1 /opt/molar\n" + dirty, nil},
		"a library":     {"00400000-00402000 r-xp 00000000 fd:00 1 /lib/libc.so\n" + clean, nil},
		"no file":       {"00400000-00402000 r-xp 00000000 00:00 0\n" + clean, nil},
		"after a match": {"00400000-00402000 r-xp 00000000 fd:00 1 /opt/molar\n" + dirty + "00500000-00502000 rw-p 00000000 00:00 0\n" + clean, nil},
		"not a range":   {"zz-00402000 r-xp 00000000 fd:00 1 /opt/molar\n" + clean, nil},
		"backwards":     {"00402000-00400000 r-xp 00000000 fd:00 1 /opt/molar\n" + clean, nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, codeMappings(tt.smaps, "/opt/molar"), cmp.AllowUnexported(mapping{})); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// The program goes on with its code dropped from under it.
func TestReleaseStart(t *testing.T) {
	releaseStart()
	releaseStart()
}
