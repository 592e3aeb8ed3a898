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

// apartFrom returns c, moved towards white as far as a part of a page in that colour needs on a background.
func (c colour) apartFrom(background colour) colour {
	const enough, steps = 3.1, 50 // WCAG AA wants 3
	for i := range steps {
		if moved := c.mix(colour{1, 1, 1}, float64(i)/steps); contrast(moved, background) >= enough {
			return moved
		}
	}
	return colour{1, 1, 1}
}

// textOn returns black or white, whichever is easier to read on c.
func textOn(c colour) colour {
	black, white := colour{}, colour{1, 1, 1}
	if contrast(c, black) > contrast(c, white) {
		return black
	}
	return white
}

// colours are those of a site: brand is what can be pressed on its light page, and dark the same on a dark
// frame.
type colours struct{ brand, dark colour }

func coloursOf(text string) (colours, error) {
	brand, err := parseColour(text)
	night := colour{0.16, 0.16, 0.16} // not darker than the grounds of the frame
	return colours{brand, brand.apartFrom(night)}, err
}

func (c colours) css() []byte {
	return fmt.Appendf(nil, ":root { --brand: light-dark(%s, %s); --on-brand: light-dark(%s, %s); }\n",
		c.brand.hex(), c.dark.hex(), textOn(c.brand).hex(), textOn(c.dark).hex())
}
