//go:build !unix

package storetest

import (
	"os"
	"os/exec"
)

func immediateStop() os.Signal { return os.Kill }

func giveAway(string) error { return nil }

func unprivileged(*exec.Cmd) {}
