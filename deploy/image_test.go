//go:build unix

package _test

import (
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

// Both images contain a program that needs no other file, and run it as the user nobody, beside pdftotext:
// small with nothing else, the other one with what MCP servers run with. The test runs the build steps of
// small unchanged, those of the program for both architectures.
func TestImage(t *testing.T) {
	text := read(t, "Dockerfile")
	_, images, _ := strings.Cut(text, "FROM scratch AS small\n")
	small, full, ok := strings.Cut(images, "FROM node:")
	if !ok || strings.Contains(full, "\nFROM ") {
		t.Fatal("the images are not small and, last, the one with node")
	}
	for name, stage := range map[string]string{"small": small, "full": full} {
		for _, want := range []string{
			"COPY --from=build /out/molar /usr/local/bin/molar\n", "COPY --from=build --chown=65532:65532 /out/data /data\n",
			"HOME=/data XDG_DATA_HOME=/data MOLAR_CONFIG=/etc/molar/molar.yaml", "\nUSER 65532:65532\nVOLUME /data\nEXPOSE 8000 8001 9464\n",
			"ENTRYPOINT [\"/usr/local/bin/molar\"]\nCMD [\"serve\"]\n", "ca-certificates",
		} {
			if !strings.Contains(stage, want) {
				t.Errorf("%s lacks %q", name, want)
			}
		}
	}
	for _, want := range []string{"poppler-utils", "/uv /uvx /usr/local/bin/\n"} {
		if !strings.Contains(full, want) {
			t.Errorf("the image lacks %q", want)
		}
	}
	build := regexp.MustCompile(`(?m)^RUN (CGO_ENABLED=0 .*go build .*)$`).FindStringSubmatch(text)
	if build == nil {
		t.Fatal("there is no build step")
	}
	copies := regexp.MustCompile(`(?m)^RUN (mkdir /out && for file in /usr/bin/pdftotext .*)$`).FindStringSubmatch(text)
	if copies == nil || !strings.Contains(small, "COPY --from=poppler /out/ /\n") || !strings.Contains(small, "ENV PATH=/usr/local/bin:/usr/bin ") {
		t.Fatal("small lacks pdftotext")
	}
	if os.Getenv("MOLAR_IMAGE") == "" {
		t.Skip("MOLAR_IMAGE is not set: with it the image is built for both architectures (make long)")
	}
	checkConverter(t, copies[1])
	for arch, machine := range map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64} {
		program := filepath.Join(t.TempDir(), "molar")
		step := exec.CommandContext(t.Context(), "sh", "-c", strings.ReplaceAll(build[1], "/out/molar", program))
		step.Dir = ".."
		step.Env = append(os.Environ(), "TARGETOS=linux", "TARGETARCH="+arch)
		if out, err := step.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", step, err, out)
		}
		checkProgram(t, program, machine)
		if arch != runtime.GOARCH || runtime.GOOS != "linux" {
			continue
		}
		version := exec.CommandContext(t.Context(), program, "version")
		version.Env = []string{}
		if out, err := version.CombinedOutput(); err != nil || !strings.HasPrefix(string(out), "molar ") {
			t.Errorf("the program does not run by itself: %v\n%s", err, out)
		}
	}
}

// checkConverter runs pdftotext with nothing but the files that a step copies into the image.
func checkConverter(t *testing.T, step string) {
	t.Helper()
	root := filepath.Join(t.TempDir(), "out")
	if out, err := exec.CommandContext(t.Context(), "sh", "-c", strings.ReplaceAll(step, "/out", root)).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", step, err, out)
	}
	if os.Geteuid() != 0 {
		t.Log("only root can run pdftotext in a root of its own")
		return
	}
	cmd := exec.CommandContext(t.Context(), "/usr/bin/pdftotext", "-v")
	cmd.SysProcAttr, cmd.Dir, cmd.Env = &syscall.SysProcAttr{Chroot: root}, "/", []string{"PATH=/usr/bin"}
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "pdftotext version") {
		t.Errorf("pdftotext does not run by itself: %v\n%s", err, out)
	}
}

func checkProgram(t *testing.T, file string, machine elf.Machine) {
	t.Helper()
	program, err := elf.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer program.Close()
	libraries, _ := program.ImportedLibraries() // none where there is no such section
	if program.Machine != machine || len(libraries) > 0 || program.Section(".interp") != nil {
		t.Errorf("built for %v, needs %v", program.Machine, libraries)
	}
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%v: %.1f MB", machine, float64(info.Size())/1e6)
}
