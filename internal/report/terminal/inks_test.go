package terminal

import (
	"image/color"
	"math"
	"testing"

	"charm.land/lipgloss/v2"
)

// TestInksAreReadable: each colour stands out from black and from white, as WCAG has it for large text.
func TestInksAreReadable(t *testing.T) {
	coloured := 0
	for tone, style := range inks {
		ink := style.GetForeground()
		if _, none := ink.(lipgloss.NoColor); none {
			continue
		}
		coloured++
		l := luminance(ink)
		onWhite, onBlack := (1+0.05)/(l+0.05), (l+0.05)/0.05
		if min(onWhite, onBlack) < 3 {
			t.Errorf("%q: contrast %.1f on white, %.1f on black, want 3", tone, onWhite, onBlack)
		}
	}
	if coloured < 5 {
		t.Errorf("%d tones have colours", coloured)
	}
}

// luminance is WCAG's relative luminance, from 0 to 1.
func luminance(c color.Color) float64 {
	part := func(v uint32) float64 {
		x := float64(v) / 0xffff
		if x <= 0.04045 {
			return x / 12.92
		}
		return math.Pow((x+0.055)/1.055, 2.4)
	}
	r, g, b, _ := c.RGBA()
	return 0.2126*part(r) + 0.7152*part(g) + 0.0722*part(b)
}
