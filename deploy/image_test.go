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

// The image contains a program that needs no other file, and runs it as the user nobody, beside
// pdftotext with what it needs. The test runs the build steps of the Dockerfile unchanged, those of the
// program for both architectures.
func TestImage(t *testing.T) {
	text := read(t, "Dockerfile")
	_, final, ok := strings.Cut(text, "FROM scratch\n")
	if !ok {
		t.Fatal("the last stage is not made from scratch")
	}
	for _, want := range []string{"USER 65532:65532\n", `ENTRYPOINT ["/molar"]`, "COPY --from=build /out/molar /molar\n", "/etc/ssl/certs/ca-certificates.crt"} {
		if !strings.Contains(final, want) {
			t.Errorf("the last stage lacks %q", want)
		}
	}
	build := regexp.MustCompile(`(?m)^RUN (CGO_ENABLED=0 .*go build .*)$`).FindStringSubmatch(text)
	if build == nil {
		t.Fatal("there is no build step")
	}
	copies := regexp.MustCompile(`(?m)^RUN (mkdir /out && for file in /usr/bin/pdftotext .*)$`).FindStringSubmatch(text)
	if copies == nil || !strings.Contains(final, "COPY --from=poppler /out/ /\n") || !strings.Contains(final, "ENV PATH=/usr/bin ") {
		t.Fatal("the image lacks pdftotext")
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
