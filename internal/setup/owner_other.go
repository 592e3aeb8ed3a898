//go:build !unix

package setup

import (
	"io/fs"
	"os"
)

// keepOwner does nothing where files have no owner in their mode.
func keepOwner(*os.File, fs.FileInfo) {}
