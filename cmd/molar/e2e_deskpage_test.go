package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// chromiumTab returns a tab of a new Chromium. It skips the test if there is none.
func chromiumTab(t *testing.T) context.Context {
	t.Helper()
	if testing.Short() {
		t.Skip("the browser is left out of short tests")
	}
	path := os.Getenv("CHROME_PATH")
	for _, name := range []string{"chromium-headless-shell", "chromium", "google-chrome"} {
		if found, err := exec.LookPath(name); path == "" && err == nil {
			path = found
		}
	}
	if path == "" {
		t.Skip("no Chromium is installed")
	}
	browser, end := chromedp.NewExecAllocator(context.WithoutCancel(t.Context()), append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.Flag("lang", "en"), chromedp.Flag("accept-lang", "en"))...)
	t.Cleanup(end)
	tab, closeTab := chromedp.NewContext(browser)
	t.Cleanup(closeTab)
	if err := chromedp.Do(tab); err != nil {
		t.Fatal(err)
	}
	limited, cancel := context.WithTimeout(tab, 2*time.Minute)
	t.Cleanup(cancel)
	return limited
}

// A reviewer signs in, follows the three steps of the desk in the browser and asks the question: its test
// was red, and is green.
func TestDesk_InTheBrowser(t *testing.T) {
	t.Parallel()
	tab := chromiumTab(t)
	d := newDeskHost(t, "review: {tests: tests}\n")
	_, turn := d.ask("ann", "chat_one", payroll)
	began := time.Now()
	b := browserTab{t, tab}
	run, sees, click := b.run, b.sees, b.click
	run("open", chromedp.EmulateViewport(1280, 900), chromedp.Navigate(d.url+"/desk"))
	sees(`location.pathname === "/login" && !document.getElementById("with-key").hidden`)
	run("sign in", chromedp.SendKeys("#key", deskKey("both")+"\r"))
	sees(`location.pathname === "/desk" && document.querySelector("#rows a strong").textContent === "` + payroll + `"`)
	click("#rows a")
	sees(`document.querySelector("#step-mark")`)
	click(`#step-mark [value=down]`)
	click("#step-mark button")
	sees(`document.querySelector("#step-mark .good")`)
	click("#step-test form button")
	sees(`document.querySelector("#step-test .code").textContent.startsWith("molar eval run ")`)
	command, err := chromedp.Run(tab, chromedp.Evaluate[string](`document.querySelector("#step-test .code").textContent`))
	if err != nil {
		t.Fatal(err)
	}
	test := strings.Fields(strings.TrimPrefix(command, "molar "))
	test[len(test)-1] = filepath.Join(d.dir, filepath.FromSlash(test[len(test)-1])) // the command is for the folder of the config
	if code, text := d.molar(test...); code != 1 {
		t.Errorf("the test of a wrong answer is not red: %d %s", code, text)
	}
	click("#step-test .run")
	sees(`document.querySelector("#step-test .outcome .bad").textContent.startsWith("Red") && document.querySelector("#step-test .outcome").textContent.includes("The outcome is as before: no source found.")`)
	const right = "Go to the desk on floor 3 and bring your card."
	run("write", chromedp.SendKeys("#write-answer", right))
	click("#step-write form button")
	sees(`document.querySelector("#step-write .files").textContent.startsWith("office/corrections/")`)
	if code, text := d.molar(test...); code != 0 {
		t.Errorf("the test is not green: %d %s", code, text)
	}
	run("open the trace in this tab", chromedp.Navigate(d.url+"/turn?id="+turn))
	sees(`document.querySelector("#step-test.finished .files").textContent.startsWith("tests/desk-")`)
	click("#step-test .run")
	sees(`document.querySelector("#step-test .outcome .good").textContent && document.querySelector("#step-test .told").textContent.includes("` + right + `")`)
	click("#make-test > section > p a")
	sees(`location.pathname === "/desk" && document.querySelector("#step-write.finished .run:not([hidden])")`)
	click("#step-write .run")
	sees(`document.querySelector("#step-write .out:last-child .good").textContent.startsWith("Green") && document.querySelector("#step-write .out:last-child .told").textContent.includes("` + right + `")`)
	run("open the chat in this tab", chromedp.Evaluate[chromedp.Void](`document.querySelector("#step-write .ask").target = ""`))
	click("#step-write .ask")
	sees(`location.pathname === "/" && document.getElementById("question").value === "` + payroll + `"`)
	click("#send")
	sees(`document.querySelector(".assistant .prose").textContent.includes("` + right + `")`)
	t.Logf("from the sign-in to the right answer: %v", time.Since(began).Round(time.Millisecond))
}
