package main

import (
	"context"
	"os/exec"
	"runtime"
)

// openBrowser shows an address to the person, where there is a browser. That there is
// none is no fault: the address has been printed.
func (a *app) openBrowser(ctx context.Context, address string) {
	var program string
	var args []string
	switch runtime.GOOS {
	case "windows":
		program, args = "rundll32", []string{"url.dll,FileProtocolHandler"}
	case "darwin":
		program = "open"
	default:
		if !a.hasEnv("DISPLAY") && !a.hasEnv("WAYLAND_DISPLAY") {
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
	cmd.Env = a.browserEnv()
	if cmd.Start() == nil {
		_ = cmd.Process.Release()
	}
}

func (a *app) hasEnv(name string) bool {
	value, ok := a.env(name)
	return ok && value != ""
}

// browserEnv is what a browser needs of the environment, without the keys of models.
func (a *app) browserEnv() []string {
	var env []string
	for _, name := range []string{
		"PATH", "HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "TMPDIR", "BROWSER",
		"DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR", "XDG_CONFIG_HOME",
		"XDG_DATA_HOME", "XDG_DATA_DIRS", "XDG_CONFIG_DIRS", "XDG_CURRENT_DESKTOP", "XDG_SESSION_TYPE", "DESKTOP_SESSION", "DE",
		"SYSTEMROOT", "WINDIR", "USERPROFILE", "APPDATA", "LOCALAPPDATA", "PROGRAMFILES", "TEMP", "TMP",
	} {
		if value, ok := a.env(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return env
}
