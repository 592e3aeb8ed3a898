//go:build unix

package documents_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"molar/internal/documents"
)

// shell returns a converter that runs a script with the document's path as $1.
func shell(script string) map[string][]string {
	return map[string][]string{"odt": {"sh", "-c", script, "sh", "{}"}, "pdf": {"sh", "-c", script, "sh", "{}"}}
}

func TestReader_converts(t *testing.T) {
	t.Setenv("A_SECRET", "secret")
	for name, tt := range map[string]struct {
		script string
		want   []string
	}{
		"what it prints":          {`cat "$1"`, []string{"# A title", "a text"}},
		"nothing of what it says": {`echo noise >&2; echo text`, []string{"text"}},
		"no secret of the host":   {`echo "[$A_SECRET] $LC_ALL"`, []string{"[] C.UTF-8"}},
		"a file of its own":       {`case "$1" in "$PWD"/document.odt) echo yes;; esac; ls | wc -l | tr -d " "`, []string{"yes\n1"}},
		"no input":                {`cat; echo ended`, []string{"ended"}},
		"pages":                   {`printf 'one\f\ftwo\f'`, []string{"p1 one", "p3 two"}},
	} {
		t.Run(name, func(t *testing.T) {
			d, err := reader(t, shell(tt.script)).Read(t.Context(), "-rf.odt", []byte("# A title\n\na text\n"))
			if diff := cmp.Diff(tt.want, lines(d)); diff != "" || err != nil {
				t.Errorf("error %v (-want +got):\n%s", err, diff)
			}
		})
	}
}

func TestReader_convertsNot(t *testing.T) {
	for name, tt := range map[string]struct{ script, want string }{
		"a failure":      {`echo "$1: broken xref" >&2; exit 3`, "it is damaged, or sh cannot read it: the file: broken xref"},
		"without a word": {`exit 3`, "exit status 3"},
		"a password":     {`echo "Command Line Error: Incorrect password" >&2; exit 1`, "protected by a password"},
		"no end":         {`yes "all work and no play makes Jack a dull boy"`, "sh prints more than 20 MiB of text"},
		"no text":        {`printf ' \f \f'`, "it holds no text"},
	} {
		t.Run(name, func(t *testing.T) {
			d, err := reader(t, shell(tt.script)).Read(t.Context(), "a.odt", []byte("x"))
			if err == nil || !strings.Contains(err.Error(), tt.want) || len(d.Parts) > 0 {
				t.Errorf("%d parts, error %v, want %s", len(d.Parts), err, tt.want)
			}
		})
	}
	d, err := reader(t, shell(`printf ' \f \f'`)).Read(t.Context(), "a.pdf", []byte("%PDF-1.7"))
	if err == nil || err.Error() != "a scan: it holds pictures, no text; run OCR over it (ocrmypdf) first" {
		t.Errorf("a scan: %v, error %v", d, err)
	}
}

// A program that somebody else ends says nothing about the document; one that crashes does.
func TestReader_endedConverters(t *testing.T) {
	// HUP and INT are left out: whoever runs the tests may have them ignored.
	for signal, busy := range map[string]bool{"KILL": true, "TERM": true, "SEGV": false, "ABRT": false} {
		_, err := reader(t, shell("kill -"+signal+" $$; sleep 600")).Read(t.Context(), "a.odt", []byte("x"))
		if err == nil || errors.Is(err, documents.ErrBusy) != busy || strings.Contains(err.Error(), "damaged") == busy {
			t.Errorf("%s: error %v", signal, err)
		}
	}
}

// A program that does not end is killed with all that it started, when its time is over.
func TestReader_killsConverters(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pid")
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	r := reader(t, shell(`sleep 600 & echo $! >"`+file+`"; sleep 600`))
	if _, err := r.Read(ctx, "a.odt", []byte("x")); err == nil || !strings.Contains(err.Error(), "60 seconds") {
		t.Errorf("error %v", err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	for began := time.Now(); !isGone(pid); {
		if time.Since(began) > 5*time.Second {
			t.Fatal("the child of the program is alive")
		}
		runtime.Gosched()
	}
}

// isGone reports whether a process has ended, if only to wait for its parent.
func isGone(pid int) bool {
	if err := syscall.Kill(pid, 0); errors.Is(err, syscall.ESRCH) {
		return true
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && strings.Contains(string(stat), ") Z ")
}

// Nothing is left of the copies that programs read.
func TestReader_removesCopies(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	for _, script := range []string{"echo text", "exit 1"} {
		_, _ = reader(t, shell(script)).Read(t.Context(), "a.odt", []byte("x"))
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left: %v, error %v", left, err)
	}
	t.Setenv("TMPDIR", filepath.Join(dir, "none"))
	if _, err := reader(t, shell("echo text")).Read(t.Context(), "a.odt", []byte("x")); !errors.Is(err, documents.ErrBusy) || !strings.Contains(err.Error(), "TMPDIR") {
		t.Errorf("error %v", err)
	}
}

func TestReader_pages(t *testing.T) {
	header := "Morning Star Clinic                 Handbook, edition 4\n\n"
	footer := func(n int) string { return fmt.Sprintf("\n\n                 page %d of 3\n\f", n) }
	text := header + `                      PATIENT HANDBOOK

    1. Opening hours
    We are open every day. The last
    patient comes at seven.

    Branch              Address               Hours

    North (main         1 High Street         8 - 20
    house)

    South               2 Low Street          9 - 17

    1. Wash your hands.
    2. Sit down.

    The paragraph goes on and on until the end of the` + footer(1) +
		header + `    page, and ends here.

    2.1 Deposits
    A deposit of 500.` + footer(2) +
		header + `    3. This is a sentence. It is no heading
    of anything.` + footer(3)
	script := "cat <<'END'\n" + text + "\nEND"
	d, err := reader(t, shell(script)).Read(t.Context(), "a.pdf", []byte("%PDF-1.7"))
	want := []string{
		"p1 # PATIENT HANDBOOK", "p1 ## 1. Opening hours", "p1 We are open every day. The last\npatient comes at seven.",
		"p1 Branch         Address          Hours", "p1 > North (main    1 High Street    8 - 20\nhouse)", "p1 > South          2 Low Street     9 - 17",
		"p1 1. Wash your hands.\n2. Sit down.", "p1 The paragraph goes on and on until the end of the\npage, and ends here.",
		"p2 ### 2.1 Deposits", "p2 A deposit of 500.", "p3 3. This is a sentence. It is no heading\nof anything.",
	}
	if diff := cmp.Diff(want, lines(d)); diff != "" || err != nil {
		t.Errorf("error %v (-want +got):\n%s", err, diff)
	}
	if head := d.Parts[4].Head; head != "Branch         Address          Hours" {
		t.Errorf("the names of the columns are %q", head)
	}
}

func TestReader_pagesOfPictures(t *testing.T) {
	d, err := reader(t, shell(`printf 'one\f\f\f'`)).Read(t.Context(), "a.pdf", []byte("%PDF-1.7"))
	if err != nil || d.Left != "2 of its 3 pages hold pictures, no text; run OCR over it (ocrmypdf)" {
		t.Errorf("left %q, error %v", d.Left, err)
	}
}

// pdf returns a PDF of pages of lines, in a font that every reader has.
func pdf(pages ...string) []byte {
	objects := []string{"<</Type/Catalog/Pages 2 0 R>>", "", "<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>"}
	var kids []string
	for _, page := range pages {
		var b strings.Builder
		b.WriteString("BT /F 11 Tf 50 780 Td 14 TL ")
		for line := range strings.SplitSeq(page, "\n") {
			b.WriteString("(" + line + ") Tj T* ")
		}
		b.WriteString("ET")
		kids = append(kids, fmt.Sprintf("%d 0 R", len(objects)+1))
		objects = append(objects,
			fmt.Sprintf("<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]/Resources<</Font<</F 3 0 R>>>>/Contents %d 0 R>>", len(objects)+2),
			fmt.Sprintf("<</Length %d>>stream\n%s\nendstream", b.Len(), b.String()))
	}
	objects[1] = fmt.Sprintf("<</Type/Pages/Kids[%s]/Count %d>>", strings.Join(kids, " "), len(kids))
	var b strings.Builder
	b.WriteString("%PDF-1.4\n")
	var places []int
	for i, object := range objects {
		places = append(places, b.Len())
		fmt.Fprintf(&b, "%d 0 obj%s\nendobj\n", i+1, object)
	}
	start := b.Len()
	fmt.Fprintf(&b, "xref\n0 %d\n0000000000 65535 f \n", len(objects)+1)
	for _, at := range places {
		fmt.Fprintf(&b, "%010d 00000 n \n", at)
	}
	fmt.Fprintf(&b, "trailer<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF\n", len(objects)+1, start)
	return []byte(b.String())
}

// The real pdftotext reads PDF without any setting.
func TestReader_PDF(t *testing.T) {
	if _, err := exec.LookPath("pdftotext"); err != nil {
		t.Skip("no pdftotext is installed; install poppler-utils to run the tests of PDF")
	}
	if got, want := read(t, "a.PDF", pdf("Clean twice a day.", "Pay by card.")), []string{"p1 Clean twice a day.", "p2 Pay by card."}; !cmp.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	for name, tt := range map[string]struct {
		data []byte
		want string
	}{
		"a scan":  {pdf("", ""), "a scan"},
		"damaged": {[]byte("%PDF-1.7 nothing"), "it is damaged, or pdftotext cannot read it"},
	} {
		if _, err := reader(t, nil).Read(t.Context(), "a.pdf", tt.data); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

// Without the program the reason says how to get it, and with it the file is read at once.
func TestReader_PDF_missing(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PATH", dir)
	r := reader(t, nil)
	if err := r.Check("a.pdf"); err == nil || err.Error() != "no program reads PDF: install pdftotext (apt-get install poppler-utils, or brew install poppler)" {
		t.Errorf("error %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "pdftotext"), []byte("#!/bin/sh\necho text\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	if d, err := r.Read(t.Context(), "a.pdf", []byte("%PDF-1.7")); err != nil || len(d.Parts) != 1 {
		t.Errorf("got %v, error %v", d, err)
	}
}

// Two documents are converted at a time; one that waits for too long is no damaged one.
func TestReader_twoAtOnce(t *testing.T) {
	gate := filepath.Join(t.TempDir(), "gate")
	r := reader(t, shell(`echo x >>"`+gate+`.$$"; while ! [ -e "`+gate+`" ]; do sleep 0.01; done; echo text`))
	var readers sync.WaitGroup
	for range 2 {
		readers.Go(func() {
			if _, err := r.Read(t.Context(), "a.odt", []byte("x")); err != nil {
				t.Error(err)
			}
		})
	}
	for began := time.Now(); ; runtime.Gosched() {
		if running, _ := filepath.Glob(gate + ".*"); len(running) == 2 {
			break
		}
		if time.Since(began) > 10*time.Second {
			t.Fatal("two programs do not run at a time")
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := r.Read(ctx, "a.odt", []byte("x")); !errors.Is(err, documents.ErrBusy) {
		t.Errorf("a third: error %v", err)
	}
	if err := os.WriteFile(gate, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	readers.Wait()
}
