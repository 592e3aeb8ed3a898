//go:build unix

package _test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// A release is what the script downloads, by path.
type release map[string][]byte

// pack makes a release with an archive for one system, named as .goreleaser.yaml names it. Its program
// prints its version, as molar does.
func pack(t *testing.T, version, platform string) release {
	t.Helper()
	return packProgram(t, version, platform, "echo molar "+version+" go1.26 linux/amd64")
}

func packProgram(t *testing.T, version, platform, program string) release {
	t.Helper()
	var archive bytes.Buffer
	packed := gzip.NewWriter(&archive)
	files := tar.NewWriter(packed)
	for name, text := range map[string]string{
		"molar":                 "#!/bin/sh\n" + program + "\n",
		"README.md":             "Molar",
		"completion/molar.bash": "bash", "completion/molar.zsh": "zsh", "completion/molar.fish": "fish",
		"man/molar.1": "molar", "man/molar-of-" + version + ".1": "verb",
	} {
		if err := files.WriteHeader(&tar.Header{Name: name, Mode: 0o755, Size: int64(len(text))}); err != nil {
			t.Fatal(err)
		}
		if _, err := files.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := files.Close(); err != nil {
		t.Fatal(err)
	}
	if err := packed.Close(); err != nil {
		t.Fatal(err)
	}
	name := "molar_" + version + "_" + platform + ".tar.gz"
	// The name of the list of what is inside begins with that of another archive.
	sums := fmt.Sprintf("%064d  %s.cdx.json\n%x  %s\n%064d  molar_%s_windows_amd64.zip\n", 0, name, sha256.Sum256(archive.Bytes()), name, 0, version)
	return release{"/v" + version + "/" + name: archive.Bytes(), "/v" + version + "/checksums.txt": []byte(sums)}
}

// serve offers releases on the loopback interface and returns their address. A file named in cut ends
// in its middle.
func serve(t *testing.T, cut string, releases ...release) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for _, files := range releases {
			data, ok := files[r.URL.Path]
			if !ok {
				continue
			}
			w.Header().Set("Content-Length", fmt.Sprint(len(data)))
			if cut != "" && strings.Contains(r.URL.Path, cut) {
				data = data[:len(data)/2]
			}
			_, _ = w.Write(data)
			return
		}
		http.NotFound(w, r)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// A person has an empty home folder, a PATH with these programs alone, and a shell.
type person struct {
	t         *testing.T
	home, bin string
	shell     []string
	env       []string
	script    string
}

// plain are the programs of every system that the script calls, beside one that downloads.
var plain = []string{"cat", "chmod", "cp", "cut", "gzip", "mkdir", "mktemp", "mv", "rm", "sh", "sha256sum", "tar", "wc"}

func newPerson(t *testing.T, programs []string, shell ...string) *person {
	t.Helper()
	dir := t.TempDir()
	p := &person{t: t, home: filepath.Join(dir, "my home"), bin: filepath.Join(dir, "programs"), shell: shell, script: read(t, "install.sh")}
	for _, made := range []string{p.home, p.bin, filepath.Join(dir, "tmp")} {
		if err := os.Mkdir(made, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range programs {
		file, err := exec.LookPath(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(file, filepath.Join(p.bin, name)); err != nil {
			t.Fatal(err)
		}
	}
	p.env = []string{"HOME=" + p.home, "PATH=" + p.bin, "TMPDIR=" + filepath.Join(dir, "tmp")}
	p.onSystem("Linux", "x86_64")
	return p
}

// onSystem sets what uname tells.
func (p *person) onSystem(system, machine string) {
	p.t.Helper()
	text := "#!/bin/sh\nif [ \"$1\" = -s ]; then echo " + system + "; else echo " + machine + "; fi\n"
	if err := os.WriteFile(filepath.Join(p.bin, "uname"), []byte(text), 0o755); err != nil {
		p.t.Fatal(err)
	}
}

// run pipes the script into the shell, as its first line says.
func (p *person) run(env []string, args ...string) (code int, out string) {
	p.t.Helper()
	cmd := exec.CommandContext(p.t.Context(), p.shell[0], slices.Concat(p.shell[1:], []string{"-s", "--"}, args)...)
	cmd.Dir, cmd.Env = p.home, append(slices.Clone(p.env), env...)
	cmd.Stdin = strings.NewReader(p.script)
	data, err := cmd.CombinedOutput()
	if err != nil && cmd.ProcessState == nil {
		p.t.Fatal(err)
	}
	if left, err := os.ReadDir(filepath.Join(filepath.Dir(p.home), "tmp")); err != nil || len(left) > 0 {
		p.t.Errorf("it left %v in the folder of temporary files, %v", left, err)
	}
	return cmd.ProcessState.ExitCode(), string(data)
}

// files lists the files of the home folder.
func (p *person) files() (all []string) {
	p.t.Helper()
	err := filepath.WalkDir(p.home, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			rel, _ := filepath.Rel(p.home, path)
			all = append(all, rel)
		}
		return err
	})
	if err != nil {
		p.t.Fatal(err)
	}
	return all
}

func (p *person) program() string { return filepath.Join(p.home, ".local/bin/molar") }

// shells are those that may run the script. Busybox brings its own tools.
func shells(t *testing.T, test func(t *testing.T, programs []string, shell ...string)) {
	t.Helper()
	for _, loader := range []string{"curl", "wget"} {
		for _, name := range []string{"sh", "dash", "bash", "busybox"} {
			if name == "busybox" && loader == "curl" {
				continue
			}
			t.Run(name+" "+loader, func(t *testing.T) {
				t.Parallel()
				programs := append(slices.Clone(plain), loader)
				for _, needed := range []string{name, loader} {
					if _, err := exec.LookPath(needed); err != nil {
						t.Skip(needed + " is not installed")
					}
				}
				if name != "busybox" {
					test(t, programs, name)
					return
				}
				test(t, []string{"busybox"}, name, "sh")
			})
		}
	}
}

// busy gives the name of each tool to busybox, where that is all there is.
func (p *person) busy() {
	p.t.Helper()
	if len(p.shell) == 1 {
		return
	}
	for _, name := range append(slices.Clone(plain), "wget") {
		if err := os.Symlink("busybox", filepath.Join(p.bin, name)); err != nil {
			p.t.Fatal(err)
		}
	}
}

// Installing, upgrading, going back and removing, in each shell and with each program that downloads.
func TestInstall(t *testing.T) {
	t.Parallel()
	shells(t, func(t *testing.T, programs []string, shell ...string) {
		p := newPerson(t, programs, shell...)
		p.busy()
		at := "MOLAR_RELEASES=" + serve(t, "", pack(t, "1.2.3", "linux_amd64"), pack(t, "1.3.0", "linux_amd64"))
		for _, step := range []struct {
			version string
			want    []string
		}{
			{"1.2.3", []string{"Installed molar 1.2.3 as " + p.program(), "is not in PATH", `export PATH="` + filepath.Dir(p.program()) + `:$PATH"`}},
			{"v1.3.0", []string{"Replaced molar 1.2.3", "by molar 1.3.0", "until you restart it"}},
			{"1.2.3", []string{"Replaced molar 1.3.0", "by molar 1.2.3"}},
		} {
			code, out := p.run([]string{at}, "--version", step.version)
			if code != 0 {
				t.Fatalf("%s: exit code %d\n%s", step.version, code, out)
			}
			for _, want := range step.want {
				if !strings.Contains(out, want) {
					t.Errorf("%s: it does not say %q:\n%s", step.version, want, out)
				}
			}
			version := strings.TrimPrefix(step.version, "v")
			want := []string{
				".local/bin/molar", ".local/share/bash-completion/completions/molar", ".local/share/fish/vendor_completions.d/molar.fish",
				".local/share/man/man1/molar-of-" + version + ".1", ".local/share/man/man1/molar.1", ".local/share/zsh/site-functions/_molar",
			}
			if got := p.files(); !slices.Equal(got, want) {
				t.Errorf("%s: installed %q, want %q", step.version, got, want)
			}
			if got := read(t, p.program()); !strings.Contains(got, "molar "+version) {
				t.Errorf("the program is %q, want %s", got, version)
			}
		}
		write(t, filepath.Join(p.home, ".local/share/molar/molar.db"))
		write(t, filepath.Join(p.home, ".config/molar/molar.yaml"))
		code, out := p.run(nil, "--uninstall")
		if code != 0 || !strings.Contains(out, "Left: "+p.home+"/.local/share/molar ") || !strings.Contains(out, "Left: "+p.home+"/.config/molar ") {
			t.Errorf("exit code %d\n%s", code, out)
		}
		if got := p.files(); !slices.Equal(got, []string{".config/molar/molar.yaml", ".local/share/molar/molar.db"}) {
			t.Errorf("left %q", got)
		}
		if code, out := p.run(nil, "--uninstall"); code != 1 || !strings.Contains(out, "there is no "+p.program()) {
			t.Errorf("removed twice: exit code %d\n%s", code, out)
		}
	})
}

func write(t *testing.T, file string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
}

// Whatever goes wrong, nothing is installed and the program of before stays.
func TestInstall_refused(t *testing.T) {
	t.Parallel()
	const archive, sums = "/v1.2.3/molar_1.2.3_linux_amd64.tar.gz", "/v1.2.3/checksums.txt"
	for name, test := range map[string]struct {
		spoil func(r release) (cut string)
		env   []string
		args  []string
		want  string
	}{
		"another archive": {func(r release) string { r[archive] = append(r[archive], 0); return "" }, nil, nil, "nothing was installed"},
		"another sum":     {func(r release) string { r[sums] = fmt.Appendf(nil, "%064d  %s\n", 1, archive[8:]); return "" }, nil, nil, "has the SHA-256"},
		"no sum": {func(r release) string {
			r[sums] = bytes.ReplaceAll(r[sums], []byte("linux_amd64.tar.gz\n"), []byte("linux_amd64.tar.xz\n"))
			return ""
		}, nil, nil, "does not name molar_1.2.3"},
		"no sums":                 {func(r release) string { delete(r, sums); return "" }, nil, nil, "could not be downloaded"},
		"no archive":              {func(r release) string { delete(r, archive); return "" }, nil, nil, "could not be downloaded"},
		"cut":                     {func(release) string { return "tar.gz" }, nil, nil, "could not be downloaded"},
		"cut sums":                {func(release) string { return "checksums" }, nil, nil, "could not be downloaded"},
		"it does not run":         {func(r release) string { maps.Copy(r, packProgram(t, "1.2.3", "linux_amd64", "exit 1")); return "" }, nil, nil, "does not run on this machine"},
		"no such version":         {nil, nil, []string{"--version", "9.9.9"}, "could not be downloaded"},
		"no address":              {nil, []string{"MOLAR_RELEASES="}, nil, "set MOLAR_RELEASES"},
		"no version":              {nil, []string{"MOLAR_VERSION="}, nil, "name one"},
		"without TLS":             {nil, []string{"MOLAR_RELEASES=http://releases.example.com"}, nil, "want https://"},
		"like loopback":           {nil, []string{"MOLAR_RELEASES=http://127.0.0.1.example.com"}, nil, "want https://"},
		"a name like loopback":    {nil, []string{"MOLAR_RELEASES=http://127.0.0.1:80@releases.example.com"}, nil, "want https://"},
		"not ours to remove":      {nil, nil, []string{"--uninstall"}, "is another program"},
		"a relative folder":       {nil, nil, []string{"--bin", "bin"}, "write its whole path"},
		"a folder that is a file": {nil, nil, []string{"--bin", "/dev/null/bin"}, "cannot be written"},
		"an unknown flag":         {nil, nil, []string{"--prefix"}, "--prefix is unknown"},
		"no value":                {nil, nil, []string{"--bin"}, "--bin needs a value"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPerson(t, append(slices.Clone(plain), "curl"), "sh")
			old := p.program()
			write(t, old)
			files, cut := pack(t, "1.2.3", "linux_amd64"), ""
			if test.spoil != nil {
				cut = test.spoil(files)
			}
			env := append([]string{"MOLAR_VERSION=1.2.3", "MOLAR_RELEASES=" + serve(t, cut, files)}, test.env...)
			code, out := p.run(env, test.args...)
			if code != 1 || !strings.Contains(out, test.want) {
				t.Errorf("exit code %d, want 1 and %q:\n%s", code, test.want, out)
			}
			if got := p.files(); !slices.Equal(got, []string{".local/bin/molar"}) || read(t, old) != "mine" {
				t.Errorf("it left %q, and of the program %q", got, read(t, old))
			}
		})
	}
}

// A script that arrives incomplete does nothing, wherever it ends.
func TestInstall_cutScript(t *testing.T) {
	t.Parallel()
	script := read(t, "install.sh")
	p := newPerson(t, append(slices.Clone(plain), "curl"), "sh")
	env := append(slices.Clone(p.env), "MOLAR_VERSION=1.2.3", "MOLAR_RELEASES="+serve(t, "", pack(t, "1.2.3", "linux_amd64")))
	for end := range strings.TrimSpace(script) {
		if end%97 > 0 && end < len(script)-30 {
			continue
		}
		cmd := exec.CommandContext(t.Context(), "sh")
		cmd.Dir, cmd.Env, cmd.Stdin = p.home, env, strings.NewReader(script[:end])
		_ = cmd.Run() // a fault of syntax, or nothing to do
	}
	if got := p.files(); len(got) > 0 {
		t.Errorf("it left %q", got)
	}
}

func TestInstall_systems(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ system, machine, archive, want string }{
		{"Linux", "x86_64", "linux_amd64", ""},
		{"Linux", "aarch64", "linux_arm64", ""},
		{"Darwin", "arm64", "darwin_arm64", ""},
		{"Darwin", "x86_64", "darwin_amd64", ""},
		{"Linux", "riscv64", "linux_riscv64", "no archive for the processor riscv64"},
		{"FreeBSD", "amd64", "freebsd_amd64", "no archive for FreeBSD"},
		{"MINGW64_NT-10.0", "x86_64", "windows_amd64", "unpack molar_1.2.3_windows_amd64.zip"},
	} {
		t.Run(test.system+" "+test.machine, func(t *testing.T) {
			t.Parallel()
			p := newPerson(t, append(slices.Clone(plain), "curl"), "sh")
			p.onSystem(test.system, test.machine)
			at := serve(t, "", pack(t, "1.2.3", test.archive))
			code, out := p.run([]string{"MOLAR_VERSION=1.2.3"}, "--releases", at)
			if (code == 0) != (test.want == "") || !strings.Contains(out, test.want) {
				t.Errorf("exit code %d\n%s", code, out)
			}
			if got := len(p.files()); (got > 0) != (test.want == "") {
				t.Errorf("%d files were installed", got)
			}
		})
	}
}

// The program may be put elsewhere, and what is in the way is named.
func TestInstall_places(t *testing.T) {
	t.Parallel()
	p := newPerson(t, append(slices.Clone(plain), "curl"), "sh")
	env := []string{"MOLAR_VERSION=1.2.3", "MOLAR_RELEASES=" + serve(t, "", pack(t, "1.2.3", "linux_amd64"))}
	root := filepath.Join(filepath.Dir(p.home), "for all")
	for _, test := range []struct {
		name string
		env  []string
		args []string
		bin  string   // the folder of the program
		want []string // files below root
		says string
	}{
		{"for all users", nil, []string{"--bin", root + "/bin/"}, root + "/bin", []string{"bin/molar", "share/man/man1/molar.1", "share/zsh/site-functions/_molar"}, ""},
		{"a folder of another name", []string{"MOLAR_BIN=" + root + "/tools"}, nil, root + "/tools", []string{"tools/molar"}, ""},
		{"in PATH", []string{"PATH=" + p.bin + ":" + root + "/bin"}, []string{"--bin", root + "/bin"}, root + "/bin", nil, "Begin with"},
		{"behind another", []string{"PATH=" + root + "/bin:" + p.bin + ":" + root + "/tools"}, []string{"--bin", root + "/tools"}, root + "/tools", nil, "But " + root + "/bin/molar comes first"},
		{"other data folder", []string{"XDG_DATA_HOME=" + root + "/data", "SHELL=/bin/zsh"}, nil, filepath.Dir(p.program()), []string{"data/man/man1/molar.1"}, `fpath=("` + root + `/data/zsh/site-functions" $fpath)`},
	} {
		code, out := p.run(append(slices.Clone(env), test.env...), test.args...)
		if code != 0 || !strings.Contains(out, test.says) {
			t.Errorf("%s: exit code %d, want %q\n%s", test.name, code, test.says, out)
		}
		if named := strings.Contains(out, "is not in PATH"); named != (test.says == "" || strings.HasPrefix(test.says, "fpath")) {
			t.Errorf("%s: it says that the folder is not in PATH: %v\n%s", test.name, named, out)
		}
		for _, file := range test.want {
			read(t, filepath.Join(root, file))
		}
		read(t, filepath.Join(test.bin, "molar"))
	}
	if code, out := p.run(nil, "--uninstall", "--bin", root+"/bin"); code != 0 {
		t.Error(out)
	}
	if _, err := os.Stat(filepath.Join(root, "share/man/man1/molar.1")); err == nil {
		t.Error("the manual is still there")
	}
	if err := os.Mkdir(filepath.Join(root, "bin/molar"), 0o755); err != nil {
		t.Fatal(err)
	}
	if code, out := p.run(env, "--bin", root+"/bin"); code != 1 || !strings.Contains(out, "is a folder") {
		t.Errorf("exit code %d\n%s", code, out)
	}
}

// The script of a release knows its version and the address, as .goreleaser.yaml fills them in.
func TestInstall_filledIn(t *testing.T) {
	t.Parallel()
	hook := regexp.MustCompile(`sed '([^']+)' deploy/install.sh`).FindStringSubmatch(read(t, "../.goreleaser.yaml"))
	if hook == nil {
		t.Fatal(".goreleaser.yaml does not fill the script in")
	}
	at := serve(t, "", pack(t, "1.2.3", "linux_amd64"), pack(t, "1.3.0", "linux_amd64"))
	edit := strings.NewReplacer("{{ .Version }}", "1.2.3", `{{ envOrDefault "MOLAR_RELEASES" "" }}`, at).Replace(hook[1])
	p := newPerson(t, append(slices.Clone(plain), "curl"), "sh")
	filled, err := exec.CommandContext(t.Context(), "sed", edit, "install.sh").Output()
	if err != nil {
		t.Fatal(err)
	}
	p.script = string(filled)
	for _, test := range []struct {
		args []string
		want string
	}{{nil, "Installed molar 1.2.3"}, {[]string{"--version", "1.3.0"}, "by molar 1.3.0"}} {
		if code, out := p.run(nil, test.args...); code != 0 || !strings.Contains(out, test.want) {
			t.Errorf("%q: exit code %d, want %q\n%s", test.args, code, test.want, out)
		}
	}
}

// Without a program that downloads, or one that sums, nothing is installed.
func TestInstall_tools(t *testing.T) {
	t.Parallel()
	env := []string{"MOLAR_VERSION=1.2.3", "MOLAR_RELEASES=" + serve(t, "", pack(t, "1.2.3", "linux_amd64"))}
	p := newPerson(t, plain, "sh")
	if code, out := p.run(env); code != 1 || !strings.Contains(out, "neither curl nor wget") {
		t.Errorf("exit code %d\n%s", code, out)
	}
	if left, err := os.ReadDir(p.home); err != nil || len(left) > 0 {
		t.Errorf("it left %v, %v", left, err)
	}
	p = newPerson(t, append(slices.DeleteFunc(slices.Clone(plain), func(s string) bool { return s == "sha256sum" }), "curl"), "sh")
	if code, out := p.run(env); code != 1 || !strings.Contains(out, "neither sha256sum nor shasum") || len(p.files()) > 0 {
		t.Errorf("exit code %d, %q\n%s", code, p.files(), out)
	}
	shasum := "#!/bin/sh\n[ \"$1 $2\" = '-a 256' ] && exec " + mustFind(t, "sha256sum") + " \"$3\"\n"
	if err := os.WriteFile(filepath.Join(p.bin, "shasum"), []byte(shasum), 0o755); err != nil {
		t.Fatal(err)
	}
	if code, out := p.run(env); code != 0 || len(p.files()) == 0 {
		t.Errorf("with shasum: exit code %d\n%s", code, out)
	}
}

func mustFind(t *testing.T, program string) string {
	t.Helper()
	file, err := exec.LookPath(program)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// The scripts that people run are free of the faults that shellcheck knows.
func TestScripts(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("shellcheck"); err != nil {
		t.Skip("shellcheck is not installed")
	}
	if out, err := exec.CommandContext(t.Context(), "shellcheck", "install.sh", "ci/eval.sh").CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
