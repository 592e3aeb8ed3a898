//go:build unix

package _test

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"molar/internal/config"
	"molar/internal/testkit"
)

// A composeFile has the fields of a compose file that those of deploy use.
type composeFile struct {
	Name     string
	Services map[string]service
	Volumes  map[string]struct{}
}

type service struct {
	Build struct {
		Context, Dockerfile string
	}
	Image       string
	Entrypoint  []string
	Command     []string
	Environment map[string]string
	EnvFile     []struct {
		Path     string
		Required bool
	} `yaml:"env_file"`
	Volumes     []string
	Tmpfs       []string
	Ports       []string
	DependsOn   map[string]struct{ Condition string } `yaml:"depends_on"`
	Healthcheck struct {
		Test              []string
		Interval, Timeout time.Duration
		Retries           int
	}
	ReadOnly        bool          `yaml:"read_only"`
	CapDrop         []string      `yaml:"cap_drop"`
	SecurityOpt     []string      `yaml:"security_opt"`
	StopGracePeriod time.Duration `yaml:"stop_grace_period"`
	Restart         string
}

// compose decodes compose.yaml, with each file named laid over it as compose does it.
func compose(t *testing.T, over ...string) composeFile {
	t.Helper()
	var file composeFile
	decode(t, "compose.yaml", read(t, "compose.yaml"), &file)
	for _, name := range over {
		var more composeFile
		decode(t, name, read(t, name), &more)
		maps.Copy(file.Volumes, more.Volumes)
		for name, s := range more.Services {
			base, ok := file.Services[name]
			if !ok {
				file.Services[name] = s
				continue
			}
			maps.Copy(base.Environment, s.Environment)
			base.DependsOn = maps.Clone(base.DependsOn)
			if base.DependsOn == nil {
				base.DependsOn = s.DependsOn
			}
			maps.Copy(base.DependsOn, s.DependsOn)
			s.Environment, s.DependsOn = nil, nil
			if diff := cmp.Diff(service{}, s); diff != "" {
				t.Errorf("%s: this test does not lay over\n%s", name, diff)
			}
			file.Services[name] = base
		}
	}
	return file
}

// A person sets no variable: compose.yaml has a value for each, and another file says which it needs.
func TestCompose_variables(t *testing.T) {
	variable := regexp.MustCompile(`\$\{?(\w+)(:[-?])?([^}]*)\}?`)
	for name, operators := range map[string][]string{"compose.yaml": {":-"}, "compose.postgres.yaml": {":-", ":?"}} {
		for _, v := range variable.FindAllStringSubmatch(read(t, name), -1) {
			if !slices.Contains(operators, v[2]) || v[2] == ":?" && v[3] == "" {
				t.Errorf("%s: %s has no value, and nobody is told to set one", name, v[0])
			}
		}
	}
}

func TestCompose(t *testing.T) {
	for name, test := range map[string]struct {
		over  []string
		env   map[string]string
		store string
	}{
		"alone":      {nil, map[string]string{"XDG_DATA_HOME": "/data"}, "/data/molar/molar.db"},
		"PostgreSQL": {[]string{"compose.postgres.yaml"}, map[string]string{"DATABASE_URL": "postgres://molar@postgres:5432/molar"}, "postgres://molar@postgres:5432/molar"},
	} {
		t.Run(name, func(t *testing.T) {
			file := compose(t, test.over...)
			cfg := settings(t, read(t, "molar.yaml"), test.env)
			if got := cfg.Database(); got != test.store {
				t.Errorf("conversations are kept in %q, want %q", got, test.store)
			}
			for name, s := range file.Services {
				checkService(t, file, name, s)
				if s.Build.Dockerfile == "" {
					continue
				}
				if s.Restart != "no" {
					ends(t, name, s.StopGracePeriod, cfg)
				}
				// A password in an address would have to be escaped; the driver reads this variable.
				if _, set := s.Environment["PGPASSWORD"]; s.Environment["DATABASE_URL"] != test.env["DATABASE_URL"] || set != (len(test.over) > 0) {
					t.Errorf("%s: its database is %q", name, s.Environment["DATABASE_URL"])
				}
			}
			if secrets := file.Services["molar"].EnvFile; len(secrets) != 1 || secrets[0].Path != config.VariablesFile("molar.yaml") || secrets[0].Required {
				t.Errorf("the secrets are read from %+v", secrets)
			}
			if on := file.Services["molar"].DependsOn["key"]; on.Condition != "service_completed_successfully" {
				t.Errorf("molar starts before there is a key: %+v", on)
			}
			molar, model := file.Services["molar"].Environment, file.Services["model"]
			if want := []string{"pull", molar["MOLAR_LLM_OLLAMA_MODEL"]}; !slices.Equal(model.Command, want) || want[1] != molar["MOLAR_LLM_OLLAMA_SMALL_MODEL"] {
				t.Errorf("the model that is downloaded is another one: %q, want %q", model.Command, want)
			}
			if host := file.Services["model"].Environment["OLLAMA_HOST"]; host != molar["OLLAMA_BASE_URL"] {
				t.Errorf("the model is put into %s", host)
			}
		})
	}
}

func checkService(t *testing.T, file composeFile, name string, s service) {
	t.Helper()
	if s.Image == "" || s.Restart == "" {
		t.Errorf("%s: image %q, restart %q", name, s.Image, s.Restart)
	}
	if stays := s.Restart != "no"; stays != (len(s.Healthcheck.Test) > 0) {
		t.Errorf("%s: restart %s, with the health check %q", name, s.Restart, s.Healthcheck.Test)
	}
	for _, port := range s.Ports {
		if !strings.HasPrefix(port, "127.0.0.1:") {
			t.Errorf("%s publishes %s to the network", name, port)
		}
	}
	for on, how := range s.DependsOn {
		other, ok := file.Services[on]
		if want := map[bool]string{true: "service_completed_successfully", false: "service_healthy"}[other.Restart == "no"]; !ok || how.Condition != want {
			t.Errorf("%s waits for %s to be %s, which cannot be", name, on, how.Condition)
		}
	}
	for _, v := range s.Volumes {
		if from, _, _ := strings.Cut(v, ":"); strings.HasPrefix(from, "./") {
			read(t, from)
		} else if _, ok := file.Volumes[from]; !ok {
			t.Errorf("%s mounts %s, which is not declared", name, from)
		}
	}
	// Compose pulls an image that no service of that name builds.
	if s.Image == "molar" != (s.Build.Dockerfile != "") {
		t.Errorf("%s: the image %s is not built", name, s.Image)
	}
	if s.Build.Dockerfile == "" {
		return
	}
	read(t, filepath.Join(s.Build.Context, s.Build.Dockerfile))
	if !s.ReadOnly || len(s.CapDrop) == 0 || len(s.SecurityOpt) == 0 {
		t.Errorf("%s has more rights than it needs", name)
	}
	if !slices.Equal(s.Tmpfs, []string{"/tmp"}) || !slices.Contains(s.Volumes, "data:/data") {
		t.Errorf("%s can write neither temporary files nor its data: %q, %q", name, s.Tmpfs, s.Volumes)
	}
}

// The service of the first key makes one, once, which is shown nowhere and with which the host starts.
func TestCompose_key(t *testing.T) {
	t.Parallel()
	key := compose(t).Services["key"]
	molar, data := testkit.Build(t, "molar/cmd/molar"), t.TempDir()
	run := func(args ...string) string {
		cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
		cmd.Env = []string{"PATH=" + filepath.Dir(molar) + ":" + os.Getenv("PATH"), "HOME=" + data, "XDG_DATA_HOME=" + data, "MOLAR_CONFIG=molar.yaml"}
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return string(out)
	}
	var log string
	for range 2 {
		log += run(slices.Concat(key.Entrypoint, key.Command)...)
	}
	if list := run(molar, "keys", "list"); strings.Count(list, "\n") != 1 || !strings.Contains(list, "operator") || !strings.Contains(list, "scope chat, admin,") {
		t.Errorf("the keys are\n%s", list)
	}
	if strings.Contains(log, "mk_") || strings.Count(log, "\n") != 1 {
		t.Errorf("the log shows the key:\n%s", log)
	}
	if link := run(molar, "keys", "link", "operator"); !strings.Contains(link, "http://127.0.0.1:8000/?token=") {
		t.Errorf("no link leads in: %s", link)
	}
}
