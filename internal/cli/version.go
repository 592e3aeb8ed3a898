package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
	"time"
)

// VersionLine returns "molar VERSION GO OS/ARCH", with the commit if the build contains it.
func VersionLine() string {
	info, ok := debug.ReadBuildInfo()
	version, commit := devel, ""
	if ok {
		version, commit = buildVersion(info)
	}
	return fmt.Sprintf("molar %s %s %s/%s%s", version, runtime.Version(), runtime.GOOS, runtime.GOARCH, commit)
}

// devel is the version of a build without a tag.
const devel = "devel"

// buildVersion returns the tag of the build, else "devel", and, for a build in a checkout, " commit
// HASH DATE", with a mark if files were changed.
func buildVersion(info *debug.BuildInfo) (version, commit string) {
	version = info.Main.Version
	if version == "" || version == "(devel)" || madeUp(version) {
		version = devel
	}
	settings := map[string]string{}
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	revision := settings["vcs.revision"]
	if revision == "" {
		return version, ""
	}
	commit = " commit " + revision[:min(len(revision), 12)]
	if t := settings["vcs.time"]; t != "" {
		commit += " " + t
	}
	if settings["vcs.modified"] == "true" {
		commit += " (modified)"
	}
	return version, commit
}

// madeUp reports whether a version is a pseudo-version, which Go derives from a commit without a
// tag: it ends with the commit's time, in 14 digits, and 12 digits of its hash.
func madeUp(version string) bool {
	version, _, _ = strings.Cut(version, "+")
	parts := strings.Split(version, "-")
	if len(parts) < 2 || len(parts[len(parts)-1]) != 12 {
		return false
	}
	at := parts[len(parts)-2]
	_, err := time.Parse("20060102150405", at[strings.LastIndexByte(at, '.')+1:])
	return err == nil
}

// Version returns the tag of the build, else "devel".
func Version() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		version, _ := buildVersion(info)
		return version
	}
	return devel
}
