package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

func newVersionCmd(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version of molar, Go and the platform",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintln(a.stdout, versionLine())
			return err
		},
	}
}

// versionLine is "molar VERSION GO OS/ARCH", with the commit when the build knows it.
func versionLine() string {
	info, ok := debug.ReadBuildInfo()
	version, commit := "unknown", ""
	if ok {
		version, commit = buildVersion(info)
	}
	return fmt.Sprintf("molar %s %s %s/%s%s", version, runtime.Version(), runtime.GOOS, runtime.GOARCH, commit)
}

// buildVersion returns the module's version and, from the version control of a
// build in a checkout, " commit HASH DATE", marked when files were changed.
func buildVersion(info *debug.BuildInfo) (version, commit string) {
	version = info.Main.Version
	if version == "" {
		version = "(devel)"
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

// hostVersion is the version that MCP servers are told.
func hostVersion() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		version, _ := buildVersion(info)
		return version
	}
	return "unknown"
}
