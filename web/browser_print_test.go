package web_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// printed returns the text of a page as it is printed. It skips the test if there is no pdftotext.
func (j *journey) printed(name string) string {
	j.t.Helper()
	reader, err := exec.LookPath("pdftotext")
	if err != nil {
		j.t.Skip("pdftotext is missing: with it, what is printed is read")
	}
	pdf, err := chromedp.Run(j.ctx, chromedp.PrintToPDF(chromedp.PDFPrintBackground()))
	if err != nil {
		j.t.Fatal(err)
	}
	file := filepath.Join(j.t.ArtifactDir(), name+".pdf")
	if err := os.WriteFile(file, pdf, 0o600); err != nil {
		j.t.Fatal(err)
	}
	cmd := exec.CommandContext(j.t.Context(), reader, "-layout", file, "-")
	var out, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &stderr
	if err := cmd.Run(); err != nil {
		j.t.Fatalf("%v: %s", err, stderr.String())
	}
	return out.String()
}

// On paper stands what is read: all messages, with the addresses of links, and nothing to press.
func TestChatPage_Print(t *testing.T) {
	t.Parallel()
	const messages = 120
	host := newChatHost()
	host.fill("k1", "Teeth", messages)
	host.all["k1"][2].Content = strings.Repeat("A long question. ", 300) + "Its end."
	j := newJourney(t, "en", host)
	j.do(chromedp.Navigate(j.url + "/"))
	eval[any](j, `localStorage.setItem("molar.theme", "dark")`)
	j.openAll("k1", messages)
	j.sees(`[...document.querySelectorAll(".assistant")].every((a) => a.querySelectorAll("math").length === 2)`)
	eval[any](j, `for (const d of [...document.querySelectorAll(".call")].slice(0, 3)) d.open = true`)
	got := j.printed("conversation")
	for i := 0; i < messages; i += 2 {
		if want := "Question " + strconv.Itoa(i) + " about teeth?"; i != 2 && !strings.Contains(got, want) {
			t.Errorf("%q is missing", want)
		}
	}
	for _, want := range []string{"Its end.", "family · search", "the NHS page (https://www.nhs.uk/conditions/toothache/)", "second molar", `{"tooth": 36, "finding": "caries"}`, "Twice a year, as a rule."} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing", want)
		}
	}
	for _, never := range []string{"Copy", "Ask again", "New conversation", "Ask something", "Settings", "Asked with", "Show all"} {
		if strings.Contains(got, never) {
			t.Errorf("%q is on paper", never)
		}
	}
}

// The trace of a turn and a document are printed without what stands around them.
func TestPages_Print(t *testing.T) {
	t.Parallel()
	j := openDesk(t, "en", newDeskAPI())
	j.do(chromedp.Navigate(j.url + "/turn?id=t-payroll"))
	j.sees(`document.querySelector(".summary")`)
	got := j.printed("trace")
	for _, want := range []string{"Trace of a turn", "Where the time went", "Why each tool was called, or was not."} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing", want)
		}
	}
	for _, never := range []string{"Skip to content", "My things", "Light/dark", "Sign out"} {
		if strings.Contains(got, never) {
			t.Errorf("%q is on paper", never)
		}
	}
}
