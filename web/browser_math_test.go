package web_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"molar/agent"
	"molar/agent/answer"
)

// formulas are formulas as models write them.
var formulas = []string{
	`$E = mc^2$`, `\(a^2 + b^2 = c^2\)`, `$\alpha + \beta_{i,j} \le \gamma'$`, `$x_1, x_2, \dots, x_n \in \mathbb{R}$`, `$f\colon A \to B$`,
	`$$x = \frac{-b \pm \sqrt{b^2 - 4ac}}{2a}$$`,
	`\[\sum_{n=1}^{\infty} \frac{1}{n^2} = \frac{\pi^2}{6}\]`,
	"$$\n\\int_{-\\infty}^{\\infty} e^{-x^2}\\,dx = \\sqrt{\\pi}\n$$",
	"\\[\n\\begin{aligned}\n(a+b)^2 &= a^2 + 2ab + b^2 \\\\\n&= (a+b)(a+b)\n\\end{aligned}\n\\]",
	`$$f(x) = \begin{cases} x^2 & \text{nếu } x \ge 0 \\ -x & \text{ngược lại} \end{cases}$$`,
	`$$A = \begin{pmatrix} 1 & 2 \\ 3 & 4 \end{pmatrix}, \quad \det A = \begin{vmatrix} 1 & 2 \\ 3 & 4 \end{vmatrix} = -2$$`,
	`$$\begin{bmatrix} a_{11} & \cdots & a_{1n} \\ \vdots & \ddots & \vdots \\ a_{m1} & \cdots & a_{mn} \end{bmatrix}$$`,
	`$$\lim_{h \to 0} \frac{f(x+h) - f(x)}{h} = f'(x)$$`, `$$\prod_{i=1}^{n} (1 + x_i) \ge 1 + \sum_{i=1}^n x_i$$`,
	`$\vec{F} = m\vec{a}$`, `$\hat{y} = \bar{x} + \tilde{z} + \dot{u}$`, `$\overline{AB} \perp \overrightarrow{CD}$`, `$\angle ABC = 90^\circ$`,
	`$$\nabla \times \mathbf{E} = -\frac{\partial \mathbf{B}}{\partial t}$$`, `$$\oint_{\partial \Omega} \mathbf{F} \cdot d\mathbf{r} = \iint_\Omega (\nabla \times \mathbf{F}) \cdot d\mathbf{S}$$`,
	`$\binom{n}{k} = \frac{n!}{k!(n-k)!}$`, `$\log_2 8 = 3$`, `$\sin^2\theta + \cos^2\theta = 1$`, `$a \equiv b \pmod{n}$`, `$\lfloor x \rfloor + \lceil y \rceil$`,
	`$A \cup B \subseteq C \setminus D$`, `$\forall \varepsilon > 0\ \exists \delta > 0$`, `$p \implies q \iff \neg p \lor q$`,
	`$$P(A \mid B) = \frac{P(B \mid A)\,P(A)}{P(B)}$$`, `$$\underbrace{1 + 1 + \cdots + 1}_{n \text{ lần}} = n$$`, `$$\overbrace{x + y}^{\text{tổng}}$$`,
	`$$\left( \frac{a}{b} \right)^{n} \left[ \frac{c}{d} \right] \left\{ \frac{e}{f} \right\}$$`, `$\sqrt[3]{27} = 3$`, `$\boxed{x = 42}$`, `$$\boxed{V = \tfrac{4}{3}\pi r^3}$$`,
	`$\mathcal{L}(\theta)$, $\mathfrak{g}$, $\mathrm{Re}(z)$`, `$$\operatorname*{arg\,max}_{\theta} \; \mathcal{L}(\theta)$$`, `$\color{red}{x} + \textcolor{blue}{y}$`,
	"$$\\begin{align}\na &= b + c \\\\\nd &= e\n\\end{align}$$", "$$\\begin{array}{c|c} x & y \\\\ \\hline 1 & 2 \\end{array}$$",
	`$$\text{Diện tích} = \pi \times \text{bán kính}^2 \approx 3{,}14 \times r^2$$`, `$\frac{1}{1 + \frac{1}{1 + \frac{1}{x}}}$`, `$\cancel{x} + \xrightarrow{\Delta}$`,
	`$\ce{2H2 + O2 -> 2H2O}$`, `$\ce{SO4^2-}$ and $\pu{9.81 m/s2}$`, "```math\n\\frac{dy}{dx} = ky\n```",
	"\\begin{align}\na &= b \\\\\n&= 50%\n\\end{align}.", "We have \\[\nx = 1\n\\],", "The matrix \\begin{pmatrix} 1 & 2 \\end{pmatrix} is one, 50\\% of all.", "| a | b |\n|---|---|\n| $|x|$ | c |",
	`$$a = b + c + d + e + f + g + h + i + j + k + l + m + n + o + p + q + r + s + t + u + v + w + x + y + z + \alpha + \beta + \gamma + \delta + \epsilon$$`,
}

// undrawn are formulas that keep their source: unknown, wrong, too long, or hostile.
var undrawn = []string{
	`$\SI{5}{km/h}$`, `$\frac{1$`, `$\href{javascript:pwn()}{x}$`, `$\url{https://evil.test}$`, `$\includegraphics{https://evil.test/a.png}$`, `$\htmlData{x=y}{z}$`,
	`$\raisebox{-90000em}{x}$`, `$\lower 99999pt x_1$`, `$\class{primary}{x}$`, `$\id{log}{x}$`, `$\style{position:fixed}{x}$`, `$\color{url(https://evil.test)}{x}$`, `$\def\a{\a\a}\a$`,
	`$\def\a{` + strings.Repeat("x", 900) + `}\def\b{` + strings.Repeat(`\a`, 300) + `}\b\b\b$`, `$\newcommand{\x}{y}\x$`, `$` + strings.Repeat("x_1+", 1100) + `x$`,
}

// violations is a script that runs before those of a page, and records what the policy of the page forbids.
const violations = `window.forbidden = []; addEventListener("securitypolicyviolation", (e) => forbidden.push(e.violatedDirective + " " + e.blockedURI + " " + e.sourceFile));`

// before adds a script that runs before those of each page.
func (j *journey) before(script string) {
	j.t.Helper()
	j.do(chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		var none struct{}
		return target.Call(ctx, "Page.addScriptToEvaluateOnNewDocument", map[string]any{"source": script}, &none)
	}))
}

// Formulas are drawn as MathML, which screen readers read, and as what they mean: prices stay text. What cannot be
// drawn, or should not, keeps its source.
func TestChatPage_Formulas(t *testing.T) { //nolint:tparallel // one browser shows one look after the other
	t.Parallel()
	host := newChatHost()
	host.fill("k1", "Formulas", 2)
	host.all["k1"][1].Content = "| a | b |\n|---|---|\n| $\\frac{1}{2}$ | \\(x^2\\) |\n\nFrom $5 to $10, or 5$ and 6$; `$x_1$` is code. Inline $" + strings.Repeat(`\alpha_1 + `, 40) +
		"x$ is wide, and $\\kern-1000em x\\rule{500em}{500em}$ large.\n\n" + strings.Join(formulas, "\n\n") + "\n\n" + strings.Join(undrawn, "\n\n")
	j := newJourney(t, "en", host)
	axe := axeSource(t)
	j.before(violations)
	for _, look := range []struct {
		name          string
		width, height int64
		theme         string
	}{{"light", 1280, 1400, "light"}, {"dark", 360, 1400, "dark"}} {
		j.do(chromedp.EmulateViewport(look.width, look.height), chromedp.Navigate(j.url+"/?"+look.name))
		eval[any](j, `localStorage.setItem("molar.theme", "`+look.theme+`")`)
		j.do(chromedp.Navigate(j.url + "/?of=" + look.name + "#k1"))
		j.sees(`[...document.querySelectorAll(".prose code.math")].length === `+strconv.Itoa(len(undrawn)), `!document.querySelector(".prose .language-math")`)
		for what, want := range map[string]string{
			`String(document.querySelectorAll(".prose .formula > math").length)`:                           strconv.Itoa(len(formulas) + 4 + 3), // two lines above hold four more, and three of formulas hold two or three
			`JSON.stringify([...document.querySelectorAll(".prose code.math")].map((c) => c.textContent))`: asJSON(t, undrawn),
			`document.querySelector(".prose p").textContent.slice(0, 54)`:                                  "From $5 to $10, or 5$ and 6$; $x_1$ is code. Inline α1",
			`JSON.stringify(forbidden)`: "[]",
			`String(document.documentElement.scrollWidth <= innerWidth && document.getElementById("log").scrollWidth <= innerWidth)`:                                                            "true",
			`String(document.querySelectorAll(".prose [id], .prose math a, .prose math [href], .prose img").length)`:                                                                            "0",
			`String([...document.querySelectorAll(".formula.scrolls")].length > 1)`:                                                                                                             "true",
			`String([...document.querySelectorAll(".formula.scrolls")].every((f) => f.tabIndex === 0 && f.getAttribute("aria-label")))`:                                                         "true",
			`String([...document.querySelectorAll(".formula:not(.scrolls)")].every((f) => f.tabIndex === -1))`:                                                                                  "true",
			`(navigator.clipboard.writeText = async (x) => { window.copied = x; }, document.querySelector(".assistant .actions button").click(), String(copied.includes("\\frac{\\pi^2}{6}")))`: "true",
		} {
			if got := eval[string](j, what); got != want {
				t.Errorf("%s: %s is %.300q, want %.300q", look.name, what, got, want)
			}
		}
		judge(j.ctx, t, axe, "formulas-"+look.name)
		for i := range 4 {
			eval[any](j, `document.getElementById("log").scrollTop = `+strconv.Itoa(i*1100))
			j.shot("formulas-" + look.name + strconv.Itoa(i))
		}
	}
}

// While an answer arrives, a formula is drawn when it is complete and stays drawn.
func TestChatPage_FormulasInAStream(t *testing.T) {
	t.Parallel()
	const reply = "The load is $F = m\\,a$, and so\n\n$$\np = \\frac{F}{A_1}\n$$\n\n1. water \\(\\ce{H2O}\\)\n2. \\[ x^2\n   \\]\n\n```math\ny = \\sqrt{x}\n```"
	cfg := newChatHost().config(t)
	cfg.Agent = script(func(ctx context.Context, turn agent.Turn, yield func(answer.Event) bool) error {
		yield(answer.Event{Kind: answer.KindStart, Start: &answer.Start{TurnID: turn.ID, ConversationID: "c1"}})
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for _, c := range reply {
			select {
			case <-tick.C:
			case <-ctx.Done():
				return ctx.Err()
			}
			yield(text(string(c)))
		}
		yield(done())
		return nil
	})
	j := openPages(t, "en", cfg)
	j.before(violations)
	j.do(chromedp.Navigate(j.url + "/"))
	eval[any](j, `window.counts = []; new MutationObserver(() => {
		const box = document.querySelector(".assistant .prose");
		if (box) counts.push(box.querySelectorAll("math").length);
	}).observe(document.getElementById("log"), { childList: true, subtree: true });`)
	for _, again := range []string{"first", "second"} { // the module is there when the second one begins
		j.ask(again)
		j.sees(idle, `[...document.querySelectorAll(".assistant")].at(-1).querySelectorAll("math").length === 5`, `!document.querySelector(".prose code")`)
	}
	if !eval[bool](j, `counts.some((n) => n > 0 && n < 5)`) {
		t.Error("no formula was drawn before the end of the answer")
	}
	if back := eval[string](j, `JSON.stringify(counts.filter((n, i) => n < counts[i - 1]))`); back != "[]" {
		t.Errorf("formulas went away again: %s", back)
	}
	if got := eval[string](j, `JSON.stringify(forbidden)`); got != "[]" {
		t.Errorf("the policy forbids %s", got)
	}
	j.shot("formulas-streamed")
}

// A conversation that is shared as a page has its formulas as MathML, and what they need to look the same.
func TestChatPage_SharesFormulas(t *testing.T) {
	t.Parallel()
	host := newChatHost()
	host.fill("k1", "Formulas", 2)
	host.all["k1"][1].Content = strings.Join(formulas, "\n\n") + "\n\n" + undrawn[0]
	j := newJourney(t, "en", host)
	j.do(chromedp.Navigate(j.url + "/#k1"))
	j.sees(`document.querySelector("#list button")`)
	eval[any](j, `window.files = []; const made = URL.createObjectURL; URL.createObjectURL = (b) => { b.text().then((x) => files.push(x)); return made(b); };
		HTMLAnchorElement.prototype.click = function () {}; document.querySelector("#list button").click()`)
	j.sees(`document.querySelector("#more:popover-open")`)
	j.do(chromedp.Click("#more button:nth-of-type(3)"))
	j.sees(`files.length === 1`)
	page := eval[string](j, `files[0]`)
	if n := strings.Count(page, "<math"); n != len(formulas)+3 {
		t.Errorf("the page has %d formulas, want %d", n, len(formulas)+3)
	}
	if !strings.Contains(page, undrawn[0]) || !strings.Contains(page, "mtable.tml-jot") {
		t.Error("the page lacks the source of a formula that is not drawn, or the look of formulas")
	}
	if runs := regexp.MustCompile(`(?i)<(script|iframe|link|object|embed|form|button)|<[^>]* on\w+=|<[^>]* src=`).FindString(page); runs != "" {
		t.Errorf("the page has %q", runs)
	}
	file := filepath.Join(t.TempDir(), "shared.html")
	if err := os.WriteFile(file, []byte(page), 0o600); err != nil {
		t.Fatal(err)
	}
	j.do(chromedp.EmulateViewport(800, 1400), chromedp.Navigate("file://"+file))
	j.sees(`document.querySelectorAll("math").length === ` + strconv.Itoa(len(formulas)+3))
	j.shot("shared")
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(b.String())
}
