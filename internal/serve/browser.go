package serve

import (
	"context"
	"os/exec"
	"runtime"

	"molar/internal/cli"
)

// openBrowser opens an address in the person's browser, if there is one. A missing browser is
// not an error: the address was printed.
func openBrowser(ctx context.Context, a *cli.CLI, address string) {
	var program string
	var args []string
	switch runtime.GOOS {
	case "windows":
		program, args = "rundll32", []string{"url.dll,FileProtocolHandler"}
	case "darwin":
		program = "open"
	default:
		if !hasEnv(a, "DISPLAY") && !hasEnv(a, "WAYLAND_DISPLAY") {
			return
		}
		program = "xdg-open"
	}
	path, err := exec.LookPath(program)
	if err != nil {
		return
	}
	// A browser that stays in the foreground outlives molar.
	cmd := exec.CommandContext(context.WithoutCancel(ctx), path, append(args, address)...) //nolint:gosec // the address was checked: http or https
	cmd.Env = browserEnv(a)
	if cmd.Start() == nil {
		_ = cmd.Process.Release()
	}
}

func hasEnv(a *cli.CLI, name string) bool {
	value, ok := a.Env(name)
	return ok && value != ""
}

// browserEnv returns the environment for a browser, without the keys of models.
func browserEnv(a *cli.CLI) []string {
	var env []string
	for _, name := range []string{
		"PATH", "HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "TMPDIR", "BROWSER",
		"DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR", "XDG_CONFIG_HOME",
		"XDG_DATA_HOME", "XDG_DATA_DIRS", "XDG_CONFIG_DIRS", "XDG_CURRENT_DESKTOP", "XDG_SESSION_TYPE", "DESKTOP_SESSION", "DE",
		"SYSTEMROOT", "WINDIR", "USERPROFILE", "APPDATA", "LOCALAPPDATA", "PROGRAMFILES", "TEMP", "TMP",
	} {
		if value, ok := a.Env(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return env
}
