//go:build unix

package main

import (
	"os"
	"os/signal"
	"strings"
	"syscall"
	"testing"

	"molar/internal/cli"
)

// SIGHUP makes the host read the file again and keep running.
func TestSignal_HangupReloads(t *testing.T) {
	// A program that ignores the signal passes that on to the host, which then ignores it too. A
	// program that listens for it does not.
	heard := make(chan os.Signal, 1)
	signal.Notify(heard, syscall.SIGHUP)
	t.Cleanup(func() { signal.Stop(heard) })
	family := buildFamily(t)
	config := familyConfig(t, family)
	p := startProgram(t, homeEnv(t, nil), "serve", "--config", config, "--listen", "127.0.0.1:0")
	p.listening(t)
	good, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	hangUp := func(want string) {
		t.Helper()
		if err := p.cmd.Process.Signal(syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
		p.stderr.wait(t, want, p.ended)
	}
	hangUp("msg=\"config reloaded\" asked_by=SIGHUP added=[]")
	save(t, config, strings.Replace(string(good), "family: {command", "kin: {command", 1))
	hangUp("added=[kin] removed=[family]")
	save(t, config, "default: [\n")
	hangUp("the last good one stays in force")
	if code, _ := p.interrupt(t); code != cli.OK {
		t.Errorf("exit code %d", code)
	}
}
