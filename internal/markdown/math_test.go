package markdown_test

import (
	"html"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"molar/internal/markdown"
)

var (
	formula = regexp.MustCompile(`(?s)<code class="(?:math|language-math)">(.*?)</code>`)
	cell    = regexp.MustCompile(`</t[dh]>`)
)

// formulasOf returns the sources of the formulas in the HTML of a text.
func formulasOf(t *testing.T, source string) (page string, found []string) {
	t.Helper()
	var b strings.Builder
	if err := markdown.New().Convert([]byte(source), &b); err != nil {
		t.Fatal(err)
	}
	for _, f := range formula.FindAllStringSubmatch(b.String(), -1) {
		found = append(found, strings.TrimSpace(html.UnescapeString(f[1])))
	}
	return b.String(), found
}

// Models write formulas in many ways: each of these is one.
var written = []struct{ source, want string }{
	// within a line
	{`The roots are $x_{1,2} = \frac{-b \pm \sqrt{\Delta}}{2a}$.`, `$x_{1,2} = \frac{-b \pm \sqrt{\Delta}}{2a}$`},
	{`Since \(a > 0\), the function \( f(x) = ax^2 \) is convex.`, "\\(a > 0\\)\n\\( f(x) = ax^2 \\)"},
	{`The $x$-axis, the $n$th term, and $2n$th ones.`, "$x$\n$n$\n$2n$"},
	{`Let $ n \geq 1 $ and $ a, b $ be given.`, "$ n \\geq 1 $\n$ a, b $"},
	{`Với $ x = 2 $ thì $ y = 4 $.`, "$ x = 2 $\n$ y = 4 $"},
	{`设$x$为实数，当$n$时有$f(x)=0$。`, "$x$\n$n$\n$f(x)=0$"},
	{`関数$f$は$x=a$で連続である。`, "$f$\n$x=a$"},
	{`Cho hàm số $y = x^3 - 3x$; tìm $y'$, rồi giải ($y' = 0$).`, "$y = x^3 - 3x$\n$y'$\n$y' = 0$"},
	{`**Đáp án: $x = 2$.** _Vì $a_1 = b_1$._`, "$x = 2$\n$a_1 = b_1$"},
	{`It costs $\$5$, or $\text{cost} = \$10$ in all.`, "$\\$5$\n$\\text{cost} = \\$10$"},
	{`So "$a_1$", ($b_2$), [$c_3$]: $d$!`, "$a_1$\n$b_2$\n$c_3$\n$d$"},
	{`A US$5 note, and $x + y$ more.`, `$x + y$`},
	{`An isotope: ${}^{14}\mathrm{C}$ and $\ce{H2O}$.`, "${}^{14}\\mathrm{C}$\n$\\ce{H2O}$"},
	{`### Step 1: Solve $2x + 3 = 7$`, `$2x + 3 = 7$`},
	{`Therefore \( \boxed{42} \).`, `\( \boxed{42} \)`},
	{`A sum $$\sum_{i=1}^n i$$ in the line.`, `$$\sum_{i=1}^n i$$`},
	{`At $37^\circ$C, $T$ is 310 K.`, "$37^\\circ$\n$T$"},
	{`Given \(x\in\mathbb{R}\)-valued maps \(f\), \(g\).`, "\\(x\\in\\mathbb{R}\\)\n\\(f\\)\n\\(g\\)"},
	{"A long one \\(a + b\n= c\\) over two lines.", "\\(a + b\n= c\\)"},
	// on lines of their own
	{"\\[\nx = \\frac{1}{2}\n\\]", "\\[\nx = \\frac{1}{2}\n\\]"},
	{"We have:\n\\[\nx = 1\n\\]\nand so on.", "\\[\nx = 1\n\\]"},
	{"We have:\n$$\nx = 1\n$$\nand so on.", "$$\nx = 1\n$$"},
	{"We have: \\[\nx = 1\n\\]\nand so on.", "\\[\nx = 1\n\\]"},
	{"We have: $$\nx = 1\n$$\nand so on.", "$$\nx = 1\n$$"},
	{"We have: $$x = 1\n= 2 - 1$$", "$$x = 1\n= 2 - 1$$"},
	{"\\[\na^2 + b^2 = c^2\n\\] where $c$ is the longest side.", "\\[\na^2 + b^2 = c^2\n\\]\n$c$"},
	{"\\[ E = mc^2 \\].", `\[ E = mc^2 \].`},
	{"$$\nE = mc^2\n$$,\n\nwith $m$.", "$$\nE = mc^2\n$$,\n$m$"},
	{"$$\n\nx = 1\n\n$$", "$$\n\nx = 1\n\n$$"},
	{"\\[\nx = 1\n\ny = 2\n\\]\n\nnext $z$", "\\[\nx = 1\n\ny = 2\n\\]\n$z$"},
	{"$$x = 1$$\n$$y = 2$$", "$$x = 1$$\n$$y = 2$$"},
	{"$$ a\n= b\n- c\n# d $$", "$$ a\n= b\n- c\n# d $$"},
	{"\\[\n\\begin{aligned}\na &= b \\\\[4pt]\n&= c\n\\end{aligned}\n\\]", "\\[\n\\begin{aligned}\na &= b \\\\[4pt]\n&= c\n\\end{aligned}\n\\]"},
	{"So: \\[\n\\begin{aligned}\na &= b\n\\end{aligned}\n\\]\nDone.", "\\[\n\\begin{aligned}\na &= b\n\\end{aligned}\n\\]"},
	{"    $$\n    x = 1\n    $$", "$$\n    x = 1\n    $$"},
	{"```math\nx^2\n```", "x^2"},
	// environments without marks
	{"\\begin{align}\na &= b \\\\\n&= c\n\\end{align}", "\\begin{align}\na &= b \\\\\n&= c\n\\end{align}"},
	{"Then:\n\\begin{align*}\na &= b\n\\end{align*}\nDone.", "\\begin{align*}\na &= b\n\\end{align*}"},
	{"\\begin{equation}\nE = mc^2 \\tag{1}\n\\end{equation}", "\\begin{equation}\nE = mc^2 \\tag{1}\n\\end{equation}"},
	{"\\begin{gather*}\na = b\n\nc = d\n\\end{gather*}\n\nNext.", "\\begin{gather*}\na = b\n\nc = d\n\\end{gather*}"},
	{"The matrix \\begin{pmatrix} 1 & 2 \\\\ 3 & 4 \\end{pmatrix} is regular.", `\begin{pmatrix} 1 & 2 \\ 3 & 4 \end{pmatrix}`},
	{"\\begin{cases}\n\\begin{cases} a & b \\end{cases} \\\\\nc & d\n\\end{cases}", "\\begin{cases}\n\\begin{cases} a & b \\end{cases} \\\\\nc & d\n\\end{cases}"},
	// in lists and quotes
	{"1. First:\n   \\[\n   x = 1\n   \\]\n2. Then $y$", "\\[\nx = 1\n\\]\n$y$"},
	{"1. First:\n\n    $$\n    x = 1\n    $$\n\n2. Then $y$", "$$\n x = 1\n $$\n$y$"},
	{"*   **Step:**\n    $$x = 1$$\n*   $y$", "$$x = 1$$\n$y$"},
	{"- a\n\n      \\[\n      x = 1\n      \\]\n- $b$", "\\[\n    x = 1\n    \\]\n$b$"},
	{"- a\n  - b:\n    \\begin{align}\n    x &= 1\n    \\end{align}", "\\begin{align}\nx &= 1\n\\end{align}"},
	{"1. $$\n   x = 1\n\n   y = 2\n   $$\n\ntext", "$$\nx = 1\n\ny = 2\n$$"},
	{"1. Item\n\\[\nx = 1\n\\]\n2. Next", "\\[\nx = 1\n\\]"},
	{"> **Theorem.**\n> $$\n> a^2 = b\n> $$\n> for $a$", "$$\na^2 = b\n$$\n$a$"},
	{"> \\[ x \\]\n> and \\(y\n> = z\\)", "\\[ x \\]\n\\(y\n= z\\)"},
	// in tables
	{"| f | f' |\n|---|---|\n| $x^2$ | $2x$ |\n| \\(\\sin x\\) | $$\\cos x$$ |", "$x^2$\n$2x$\n\\(\\sin x\\)\n$$\\cos x$$"},
	{"| a | b |\n|---|---|\n| $|x|$ | absolute |", "$|x|$"},
	{"| a | b |\n|---|---|\n| $P(A|B)$ | $\\frac{P(A \\cap B)}{P(B)}$ |", "$P(A|B)$\n$\\frac{P(A \\cap B)}{P(B)}$"},
	{"| a | b |\n|---|---|\n| $P(A\\|B)$ | 1 |", "$P(A|B)$"},
	{"| $|x|$ | b |\n|---|---|\n| \\(|a| + |b|\\) | 2 |", "$|x|$\n\\(|a| + |b|\\)"},
	// ends of answers
	{"**Final answer:** $\\boxed{\\dfrac{3}{4}}$", `$\boxed{\dfrac{3}{4}}$`},
	{"$$\\boxed{x = 3}$$\n\n---\n\n**Note:** $x > 0$", "$$\\boxed{x = 3}$$\n$x > 0$"},
	{"Vậy \\[\\boxed{S = 12\\,\\text{cm}^2}\\]", `\[\boxed{S = 12\,\text{cm}^2}\]`},
	{"Suy ra: $$S = \\pi r^2.$$ Thay số: $$S = 9\\pi.$$", "$$S = \\pi r^2.$$\n$$S = 9\\pi.$$"},
}

func TestNew_Formulas(t *testing.T) {
	drawn := 0
	for _, tt := range written {
		page, found := formulasOf(t, tt.source)
		if diff := cmp.Diff(tt.want, strings.Join(found, "\n")); diff != "" {
			t.Errorf("%q: %s\n%s", tt.source, diff, page)
		} else {
			drawn++
		}
	}
	t.Logf("%d of %d", drawn, len(written))
}

// Prices, variables of a shell, code, and what only looks like a formula stay text.
func TestNew_NoFormulas(t *testing.T) {
	for _, source := range []string{
		"From $5 to $10, or 5$ and 6$.", "Between US$5 and US$6.", "It is $5/month, then $10/month.", "From \\$5 to \\$10.", "5 $ và 6 $", "$5–$10",
		"$HOME and $PATH", "Set $FOO_BAR:$BAZ_QUX.", "${FOO}/${BAR} and ${A}:${B}", "$(pwd)/$(whoami)", "$FOO_BAR$BAZ", "`$x_1$` and `\\(x\\)`",
		"$$–$$$", "- $$: cheap\n- $$$: dear", "Cafés: $$ / $$$ / $$", "$$$ is dear, $$ is not.", "Use \\begin{align} and \\end{align}.", "\\(a", "costs $5 and `a_b$` x",
		"`\\[a-z\\]` and `^\\$`", "```sh\necho $$\n$$\nx\n$$\n```", "    \\[a-z\\]", "$ echo hello and $ echo bye", "| a | b |\n|---|---|\n| $5 | $6 |\n| $A_B|$C_D|", "```latex\n\\[x\\]\n```",
	} {
		if page, found := formulasOf(t, source); len(found) > 0 {
			t.Errorf("%q: %q\n%s", source, found, page)
		}
	}
	for source, cells := range map[string]int{
		"| a | b |\n|---|---|\n| $|x|$ | c |": 4, "|a|b|\n|-|-|\n|$A_B|$C_D|": 4, "| a |\n|---|\n| $5 | 6$ |": 2, "| a | b |\n|---|---|\n| `x` | $y$ | more |": 4,
	} {
		if page, _ := formulasOf(t, source); len(cell.FindAllString(page, -1)) != cells {
			t.Errorf("%q: want %d cells\n%s", source, cells, page)
		}
	}
}
