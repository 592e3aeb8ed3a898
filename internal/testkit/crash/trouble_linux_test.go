package crash_test

import (
	"path/filepath"
	"testing"
	"time"

	"molar/internal/store/storetest"
	"molar/internal/testkit/crash"
)

// During faults that are later repaired, turns are written: no reported turn is missing, and none
// is there twice. Each cycle ends with a kill.
func TestTrouble_sqlite(t *testing.T) {
	t.Run("the file is locked", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "memory.db")
		mustKeep(t, run(t, crash.Config{
			Command: command(t, path), Cycles: cycles(t, troubledCycles), Writers: 4, Seed: 1,
			Trouble: func() error { return crash.LockFile(path, 200*time.Millisecond) },
		}))
	})
	t.Run("the disk is full", func(t *testing.T) {
		disk := crash.NewSmallDisk(t, 32<<20)
		mustKeep(t, run(t, crash.Config{
			Command: command(t, filepath.Join(disk.Folder, "memory.db")), Cycles: cycles(t, troubledCycles), Writers: 4, Seed: 1,
			Trouble: func() error { return disk.Fill(200 * time.Millisecond) },
		}))
	})
}

// troubledCycles is the number of cycles with a trouble.
const troubledCycles = 3

func TestTrouble_postgres(t *testing.T) {
	t.Parallel()
	pg := storetest.StartPostgres(t)
	if !pg.Private() {
		t.Skip("the server is not ours to stop")
	}
	for name, c := range map[string]struct {
		trouble func() error
		forgets bool
	}{
		"it stops": {func() error {
			pg.Stop(t)
			time.Sleep(300 * time.Millisecond)
			pg.Start(t)
			return nil
		}, true},
		"it restarts": {func() error { pg.Stop(t); pg.Start(t); return nil }, true},
		"it freezes":  {func() error { return pg.Freeze(500 * time.Millisecond) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			mustKeep(t, run(t, crash.Config{
				Command: command(t, pg.Database(t)), Cycles: cycles(t, troubledCycles), Writers: 4, Seed: 1,
				Trouble: c.trouble, ForgetsRecords: c.forgets,
			}))
		})
	}
}
