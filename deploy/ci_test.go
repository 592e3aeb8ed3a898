//go:build unix

package _test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"molar/internal/testkit"
)

// A step of a composite action.
type step struct {
	ID, Shell, Run, Uses string
	Env, With            map[string]string
}

// The action gives every value to the script in the environment: one that is written into the text of a
// script could be a command.
func TestAction(t *testing.T) {
	var action struct {
		Name, Description string
		Inputs            map[string]struct {
			Description, Default string
			Required             bool
		}
		Outputs map[string]struct{ Description, Value string }
		Runs    struct {
			Using string
			Steps []step
		}
	}
	text := read(t, "ci/action.yml")
	decode(t, "ci/action.yml", text, &action)
	if action.Runs.Using != "composite" || len(action.Runs.Steps) != 3 {
		t.Fatalf("%+v", action.Runs)
	}
	for _, s := range action.Runs.Steps {
		if (s.Run == "") == (s.Uses == "") || s.Run != "" && s.Shell == "" {
			t.Errorf("%+v", s)
		}
		if strings.Contains(s.Run, "${{") {
			t.Errorf("a value is written into the script %q", s.Run)
		}
		if s.Uses != "" && !regexp.MustCompile(`^actions/[a-z-]+@\S+$`).MatchString(s.Uses) {
			t.Errorf("it uses %q", s.Uses)
		}
	}
	for _, m := range regexp.MustCompile(`inputs\.([a-z]+)`).FindAllStringSubmatch(text, -1) {
		if _, ok := action.Inputs[m[1]]; !ok {
			t.Errorf("there is no input %s", m[1])
		}
	}
	script := read(t, "ci/eval.sh")
	for name := range action.Runs.Steps[0].Env {
		if !strings.Contains(script, name) {
			t.Errorf("the script does not read %s", name)
		}
	}
	workflow := read(t, "../docs/how-to/eval-in-ci.md")
	if !strings.Contains(workflow, "permissions: {contents: read, pull-requests: write}") || strings.Contains(text+workflow, "pull_request_target") {
		t.Error("the workflow of the docs has other rights")
	}
}

func TestGitLab(t *testing.T) {
	var file map[string]struct {
		Stage     string
		Rules     []struct{ If string }
		Variables map[string]string
		Script    []string
		Artifacts struct {
			When    string
			Paths   []string
			Reports struct{ Junit string }
		}
	}
	decode(t, "ci/gitlab.yml", read(t, "ci/gitlab.yml"), &file)
	job := file["molar-eval"]
	out := job.Variables["MOLAR_OUT"] + "/"
	if len(file) != 1 || job.Artifacts.When != "always" || job.Artifacts.Reports.Junit != out+"junit.xml" || !slices.Equal(job.Artifacts.Paths, []string{out}) {
		t.Errorf("%+v", file)
	}
	if !slices.Equal(job.Script, []string{`sh "$MOLAR_CI/eval.sh"`}) {
		t.Errorf("%q", job.Script)
	}
}

// A forge holds the comments on a change, as GitHub or GitLab.
type forge struct {
	*httptest.Server
	gitlab   bool
	readOnly bool // as for a change from a fork

	mu       sync.Mutex
	comments []comment
}

type comment struct {
	ID           int
	Author, Body string
}

const secret = "token-of-the-job"

func newForge(t *testing.T, gitlab bool) *forge {
	f := &forge{gitlab: gitlab}
	marker := "<!-- molar-eval -->\n"
	for i := range 150 { // more than a page
		f.comments = append(f.comments, comment{i + 1, "somebody", marker + "as if it were ours"})
	}
	mux := http.NewServeMux()
	if gitlab {
		mux.HandleFunc("GET /user", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"username":"us"}`) })
		mux.HandleFunc("GET /projects/5/merge_requests/7/notes", f.list)
		mux.HandleFunc("POST /projects/5/merge_requests/7/notes", f.write)
		mux.HandleFunc("PUT /projects/5/merge_requests/7/notes/{id}", f.write)
	} else {
		mux.HandleFunc("GET /repos/org/name/issues/7/comments", f.list)
		mux.HandleFunc("POST /repos/org/name/issues/7/comments", f.write)
		mux.HandleFunc("PATCH /repos/org/name/issues/comments/{id}", f.write)
	}
	f.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+secret && r.Header.Get("Private-Token") != secret {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(f.Close)
	return f
}

func (f *forge) us() string {
	if f.gitlab {
		return "us"
	}
	return "github-actions[bot]"
}

func (f *forge) list(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	page, _ := strconv.Atoi(r.FormValue("page"))
	size, _ := strconv.Atoi(r.FormValue("per_page"))
	from := min((page-1)*size, len(f.comments))
	list := []map[string]any{}
	for _, c := range f.comments[from:min(from+size, len(f.comments))] {
		list = append(list, map[string]any{"id": c.ID, "body": c.Body, "user": map[string]string{"login": c.Author}, "author": map[string]string{"username": c.Author}})
	}
	_ = json.NewEncoder(w).Encode(list)
}

func (f *forge) write(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var in struct{ Body string }
	switch err := json.NewDecoder(r.Body).Decode(&in); {
	case f.readOnly:
		w.WriteHeader(http.StatusForbidden)
		return
	case err != nil:
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	if id, err := strconv.Atoi(r.PathValue("id")); err == nil {
		f.comments[id-1].Body = in.Body
		return
	}
	f.comments = append(f.comments, comment{len(f.comments) + 1, f.us(), in.Body})
	w.WriteHeader(http.StatusCreated)
}

// ours returns the comments of the job.
func (f *forge) ours() (all []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range f.comments {
		if c.Author == f.us() {
			all = append(all, c.Body)
		} else if !strings.HasSuffix(c.Body, "as if it were ours") {
			all = append(all, "the comment of somebody else was replaced")
		}
	}
	return all
}

// A job is a checkout with suites that pass, fail, drifted and are broken.
type job struct {
	t     *testing.T
	dir   string
	molar string
	env   []string
}

func newJob(t *testing.T) *job {
	t.Helper()
	for _, program := range []string{"curl", "jq"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip(program + " is not installed")
		}
	}
	j := &job{t: t, dir: t.TempDir(), molar: testkit.Build(t, "molar/cmd/molar")}
	for name, text := range map[string]string{
		"fail case/a.yaml": "id: good\ntape: ../pass/good.tape.jsonl\nuser: Hello\nexpect: {answer: {all: [{contains: goodbye}]}}\n",
		"drift/a.yaml":     "id: good\ntape: ../pass/good.tape.jsonl\nuser: Hello, you\n",
		"broken/a.yaml":    "id: [good\n",
		// It is seen what the program was given, by a wrapper that is the program otherwise.
		"molar": "#!/bin/sh\nenv >>env.txt\necho '  ::set-env name=x::y'\nexec \"$REAL_MOLAR\" \"$@\"\n",
	} {
		file := filepath.Join(j.dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o755)); err != nil {
			t.Fatal(err)
		}
	}
	j.env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + j.dir, "REAL_MOLAR=" + j.molar, "MOLAR=" + filepath.Join(j.dir, "molar"),
		"MOLAR_OUT=out", "MOLAR_COMMENT=true", "MOLAR_TOKEN=" + secret,
	}
	record := exec.CommandContext(t.Context(), j.molar, "eval", "record", "--provider", "offline", "--out", "pass/good.yaml", "Hello")
	record.Dir, record.Env = j.dir, j.env
	if out, err := record.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return j
}

func (j *job) run(cases string, env ...string) (code int, log string) {
	j.t.Helper()
	script, err := filepath.Abs("ci/eval.sh")
	if err != nil {
		j.t.Fatal(err)
	}
	if _, err := os.Stat(script); err != nil { // or the go command does not know that the test depends on it
		j.t.Fatal(err)
	}
	cmd := exec.CommandContext(j.t.Context(), "sh", script)
	cmd.Dir, cmd.Env = j.dir, append(slices.Clone(j.env), append(env, "MOLAR_CASES="+cases)...)
	out, err := cmd.CombinedOutput()
	if _, ended := errors.AsType[*exec.ExitError](err); err != nil && !ended {
		j.t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), string(out)
}

func (j *job) file(name string) string {
	j.t.Helper()
	return read(j.t, filepath.Join(j.dir, name))
}

func (f *forge) env() []string {
	if f.gitlab {
		return []string{"CI_API_V4_URL=" + f.URL, "CI_PROJECT_ID=5", "CI_MERGE_REQUEST_IID=7"}
	}
	return []string{"GITHUB_ACTIONS=true", "GITHUB_API_URL=" + f.URL, "GITHUB_REPOSITORY=org/name", "MOLAR_PULL=7", "GITHUB_OUTPUT=output", "GITHUB_STEP_SUMMARY=summary"}
}

// The exit code is that of the cases, and one comment has the newest report.
func TestEvalScript(t *testing.T) {
	t.Parallel()
	for name, gitlab := range map[string]bool{"github": false, "gitlab": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j, f := newJob(t), newForge(t, gitlab)
			for _, test := range []struct {
				cases string
				code  int
				want  string
			}{
				{"pass", 0, "1 of 1 cases passed"},
				{"fail case\n", 1, "goodbye"},
				{"drift", 3, "Drift"},
				{"broken\npass", 2, "INVALID"},
				{"$(touch interpolated)`touch interpolated`; touch interpolated", 2, "did not run"},
				{"--help", 2, "did not run"},
				{"pass", 0, "1 of 1 cases passed"},
			} {
				code, log := j.run(test.cases, f.env()...)
				ours := f.ours()
				if code != test.code || len(ours) != 1 || !strings.Contains(ours[0], test.want) || !strings.Contains(log, "the comment is up to date") {
					t.Errorf("%q: exit code %d, comments %q\n%s", test.cases, code, ours, log)
				}
				if ours[0] != j.file("out/report.md") {
					t.Errorf("%q: the comment is not the report", test.cases)
				}
				if strings.Contains(log+j.file("env.txt"), secret) {
					t.Errorf("%q: the token is in the log or was given to the program:\n%s", test.cases, log)
				}
				if gitlab {
					continue
				}
				if want := fmt.Sprintf("exit-code=%d\n", test.code); !strings.HasSuffix(j.file("output"), want) || !strings.HasSuffix(j.file("summary"), j.file("out/report.md")) {
					t.Errorf("%q: output %q, summary %q", test.cases, j.file("output"), j.file("summary"))
				}
				if m := regexp.MustCompile(`(?s)^::stop-commands::([0-9a-f]{32})\n.*::set-env.*\n::([0-9a-f]{32})::\n`).FindStringSubmatch(log); m == nil || m[1] != m[2] {
					t.Errorf("%q: a line of the program may be a command to the runner:\n%s", test.cases, log)
				}
			}
			if _, err := os.Stat(filepath.Join(j.dir, "interpolated")); err == nil {
				t.Error("the name of a case was run as a command")
			}
			if !strings.Contains(j.file("env.txt"), "MOLAR_EVAL_RECORD=never") {
				t.Error("the program may record")
			}
			for file, want := range map[string]string{"out/report.json": `"pass": 1`, "out/junit.xml": "<testsuites"} {
				if !strings.Contains(j.file(file), want) {
					t.Errorf("%s lacks %s", file, want)
				}
			}
		})
	}
}

// A change from a fork may not comment. Its exit code and its reports are the same.
func TestEvalScript_fork(t *testing.T) {
	t.Parallel()
	for name, gitlab := range map[string]bool{"github": false, "gitlab": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j, f := newJob(t), newForge(t, gitlab)
			f.mu.Lock()
			f.readOnly = true
			f.mu.Unlock()
			for token, want := range map[string]string{secret: "could not be written", "": "no token", "wrong": "could not be written"} {
				code, log := j.run("fail case", append(f.env(), "MOLAR_TOKEN="+token)...)
				if code != 1 || len(f.ours()) != 0 || !strings.Contains(log, want) || !strings.Contains(j.file("out/report.md"), "goodbye") {
					t.Errorf("token %q: exit code %d\n%s", token, code, log)
				}
			}
		})
	}
}

func TestEvalScript_base(t *testing.T) {
	t.Parallel()
	j := newJob(t)
	if code, log := j.run("pass", "MOLAR_OUT=base"); code != 0 {
		t.Fatal(log)
	}
	for base, want := range map[string]bool{"base/report.json": true, "base/none.json": false} {
		code, log := j.run("drift", "MOLAR_BASE="+base)
		if code != 3 || strings.Contains(j.file("out/report.md"), "Since the base report: 1 worse") != want {
			t.Errorf("%s: exit code %d\n%s", base, code, log)
		}
	}
	// What the comparison prints is no command to the runner either.
	_, log := j.run("drift", "MOLAR_BASE=base/report.json", "GITHUB_ACTIONS=true", "MOLAR_COMMENT=false")
	if m := regexp.MustCompile(`(?s)^::stop-commands::[0-9a-f]{32}\n(.*)\n::[0-9a-f]{32}::\n(.*)`).FindStringSubmatch(log); m == nil || strings.Count(m[1], "::set-env") != 2 || strings.Contains(m[2], "::set-env") {
		t.Errorf("a line of the comparison may be a command to the runner:\n%s", log)
	}
}

// A release is run if it is the one that its checksums name.
func TestEvalScript_download(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("the checksum is compared with sha256sum")
	}
	j := newJob(t)
	program := []byte(j.file("molar"))
	var archive bytes.Buffer
	packed := gzip.NewWriter(&archive)
	files := tar.NewWriter(packed)
	if err := errors.Join(files.WriteHeader(&tar.Header{Name: "molar", Mode: 0o755, Size: int64(len(program))}), func() error { _, err := files.Write(program); return err }(), files.Close(), packed.Close()); err != nil {
		t.Fatal(err)
	}
	name := fmt.Sprintf("molar_1.2.3_linux_%s.tar.gz", runtime.GOARCH)
	sum := fmt.Sprintf("%x", sha256.Sum256(archive.Bytes()))
	for _, test := range []struct {
		sum  string
		pass bool
	}{{sum, true}, {strings.Repeat("0", 64), false}} {
		mux := http.NewServeMux()
		mux.HandleFunc("/v1.2.3/"+name, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(archive.Bytes()) })
		mux.HandleFunc("/v1.2.3/checksums.txt", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintf(w, "%s  %s\n", test.sum, name) })
		server := httptest.NewServer(mux)
		code, log := j.run("pass", "MOLAR=none", "MOLAR_VERSION=v1.2.3", "MOLAR_RELEASES="+server.URL)
		server.Close()
		if (code == 0) != test.pass {
			t.Errorf("checksum %s: exit code %d\n%s", test.sum, code, log)
		}
	}
}
