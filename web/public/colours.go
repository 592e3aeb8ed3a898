package public

import (
	"encoding/hex"
	"fmt"
	"math"
	"strings"
)

// defaultColour is that of the button if the config names none.
const defaultColour = "#0b6b5d"

// A colour is red, green and blue, from 0 to 1.
type colour [3]float64

func parseColour(text string) (c colour, err error) {
	raw, err := hex.DecodeString(strings.TrimPrefix(text, "#"))
	if err != nil || len(raw) != len(c) || text[0] != '#' {
		return c, fmt.Errorf("colour %q: want #rrggbb, such as #0b6b5d", text)
	}
	for i, b := range raw {
		c[i] = float64(b) / 255
	}
	return c, nil
}

func (c colour) hex() string {
	return fmt.Sprintf("#%02x%02x%02x", int(math.Round(c[0]*255)), int(math.Round(c[1]*255)), int(math.Round(c[2]*255)))
}

// luminance is the relative luminance of WCAG.
func (c colour) luminance() float64 {
	var linear colour
	for i, v := range c {
		if linear[i] = v / 12.92; v > 0.04045 {
			linear[i] = math.Pow((v+0.055)/1.055, 2.4)
		}
	}
	return 0.2126*linear[0] + 0.7152*linear[1] + 0.0722*linear[2]
}

// contrast is the contrast ratio of WCAG, from 1 to 21.
func contrast(a, b colour) float64 {
	la, lb := a.luminance(), b.luminance()
	return (max(la, lb) + 0.05) / (min(la, lb) + 0.05)
}

// mix returns c with a share of another colour.
func (c colour) mix(other colour, share float64) colour {
	for i := range c {
		c[i] += (other[i] - c[i]) * share
	}
	return c
}

// readableOn returns c, moved towards another colour as far as text of it needs on a background.
func (c colour) readableOn(background, towards colour) colour {
	const enough, steps = 4.6, 50 // WCAG AA wants 4.5
	for i := range steps + 1 {
		if moved := c.mix(towards, float64(i)/steps); contrast(moved, background) >= enough {
			return moved
		}
	}
	return towards
}

// colours are those of a site: brand is what can be pressed, on the text on it, and light and dark are
// brand as a text on a light and on a dark page.
type colours struct{ brand, on, light, dark colour }

func coloursOf(text string) (colours, error) {
	brand, err := parseColour(text)
	black, white := colour{}, colour{1, 1, 1}
	c := colours{brand: brand, on: white}
	if contrast(brand, black) > contrast(brand, white) {
		c.on = black
	}
	page, night := colour{0.93, 0.93, 0.93}, colour{0.16, 0.16, 0.16}
	c.light, c.dark = brand.readableOn(page, black), brand.readableOn(night, white)
	return c, err
}

func (c colours) css() []byte {
	return fmt.Appendf(nil, `:root { --brand: %[1]s; --on-brand: %[2]s; --brand-text: %[3]s; }
@media (prefers-color-scheme: dark) { :root:not([data-theme="light"]) { --brand-text: %[4]s; } }
:root[data-theme="dark"] { --brand-text: %[4]s; }
`, c.brand.hex(), c.on.hex(), c.light.hex(), c.dark.hex())
}
