//go:build !unix

package storetest

import (
	"errors"
	"os"
	"os/exec"
)

func immediateStop() os.Signal { return os.Kill }

func giveAway(string) error { return nil }

func unprivileged(*exec.Cmd) {}

func freeze(int, bool) error { return errors.ErrUnsupported }
