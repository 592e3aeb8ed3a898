package transport

import (
	"net/url"
	"os"
	"runtime"
	"slices"
	"strings"
)

// env returns the environment of a server: the host's variables that any program needs, and the
// configured ones. The Go variables are listed one by one because a prefix would admit
// GOOGLE_API_KEY.
func env(configured map[string]string) []string {
	var env []string
	for _, entry := range os.Environ() {
		name, _, _ := strings.Cut(entry, "=")
		if _, beaten := configured[name]; !beaten && passedOn(name) {
			env = append(env, entry)
		}
	}
	for name, value := range configured {
		env = append(env, name+"="+value)
	}
	slices.Sort(env)
	return env
}

// secrets returns the values of the configured variables whose names look secret, and the passwords of
// addresses in others and in the arguments.
func secrets(cfg *ServerConfig) []string {
	var secrets []string
	texts := slices.Clone(cfg.Args)
	for name, value := range cfg.Env {
		if secretName(name) {
			secrets = append(secrets, value)
		}
		texts = append(texts, value)
	}
	for _, text := range texts {
		_, value, _ := strings.Cut(text, "=") // of an option
		for _, text := range []string{text, value} {
			if address, err := url.Parse(text); err == nil {
				if password, is := address.User.Password(); is {
					_, written, _ := strings.Cut(address.User.String(), ":")
					secrets = append(secrets, password, written)
				}
			}
		}
	}
	return secrets
}

// secretName reports whether a variable of this name probably holds a secret.
func secretName(name string) bool {
	upper := strings.ToUpper(name)
	for _, word := range []string{"KEY", "TOKEN", "SECRET", "PASS", "CRED", "AUTH", "DSN"} {
		if strings.Contains(upper, word) {
			return true
		}
	}
	return false
}

// passedOn reports whether servers may see a variable of the host.
func passedOn(name string) bool {
	if runtime.GOOS == "windows" {
		name = strings.ToUpper(name)
		if slices.Contains(windowsVariables(), name) {
			return true
		}
	}
	if strings.HasPrefix(name, "LC_") || strings.HasPrefix(name, "XDG_") {
		return !secretName(name)
	}
	return slices.Contains(commonVariables(), name)
}

func commonVariables() []string {
	return []string{
		"PATH", "HOME", "LANG", "TMPDIR", "USER",
		"GOARCH", "GOBIN", "GOCACHE", "GOCOVERDIR", "GODEBUG", "GOENV", "GOEXPERIMENT", "GOFLAGS", "GOGC",
		"GOINSECURE", "GOMAXPROCS", "GOMEMLIMIT", "GOMODCACHE", "GONOPROXY", "GONOSUMDB", "GOOS", "GOPATH",
		"GOPRIVATE", "GOPROXY", "GOROOT", "GOSUMDB", "GOTMPDIR", "GOTOOLCHAIN", "GOTRACEBACK", "GOVCS", "GOWORK",
	}
}

func windowsVariables() []string {
	return []string{
		"APPDATA", "COMSPEC", "HOMEDRIVE", "HOMEPATH", "LOCALAPPDATA", "NUMBER_OF_PROCESSORS", "PATHEXT",
		"PROCESSOR_ARCHITECTURE", "PROGRAMDATA", "PROGRAMFILES", "SYSTEMDRIVE", "SYSTEMROOT", "TEMP", "TMP",
		"USERNAME", "USERPROFILE", "WINDIR",
	}
}
