package terminal

import (
	"cmp"

	"charm.land/lipgloss/v2"

	"github.com/fencelab/fencelab/internal/report/story"
)

// Tones of what only a terminal draws.
const (
	dim  story.Tone = "dim"
	hold story.Tone = "hold"
)

// inks use the sixteen colours of the terminal's own theme, so that they go
// with a light one and a dark one.
var inks = map[story.Tone]lipgloss.Style{
	story.Plain:  lipgloss.NewStyle(),
	story.Bold:   lipgloss.NewStyle().Bold(true),
	dim:          lipgloss.NewStyle().Faint(true),
	hold:         lipgloss.NewStyle().Foreground(lipgloss.Green),
	story.Fault:  lipgloss.NewStyle().Foreground(lipgloss.Yellow),
	story.Good:   lipgloss.NewStyle().Foreground(lipgloss.Green).Bold(true),
	story.Bad:    lipgloss.NewStyle().Foreground(lipgloss.Red).Bold(true),
	story.Warn:   lipgloss.NewStyle().Foreground(lipgloss.Yellow).Bold(true),
	story.Shield: lipgloss.NewStyle().Foreground(lipgloss.Cyan).Bold(true),
}

func paint(tone story.Tone, s string) string { return inks[tone].Render(s) }

// glyphs are the signs of a picture in a terminal, each one cell wide but dots.
type glyphs struct {
	dot, lane               string
	line, heavy, late       string
	over, heavyOver         map[string]string // what is seen where a message goes over a sign; others stay
	left, right, stop, dots string
	signs                   map[story.Key]string
}

var unicodeGlyphs = glyphs{
	dot: "●", lane: "│",
	line: "─", heavy: "━", late: "╌",
	over:      map[string]string{"│": "┼", "┃": "╂"},
	heavyOver: map[string]string{"│": "┿", "┃": "╋"},
	left:      "◀", right: "▶", stop: "✗", dots: "…",
	signs: map[story.Key]string{
		story.KeyHold: "┃", story.KeyBelief: "╏", story.KeyPause: "▓", story.KeyWait: "┊", story.KeyRise: "▲",
		story.KeyOver: "✗", story.KeyLost: "!", story.KeyDoubt: "?", story.KeyResult: "◆",
		story.KeyNetwork: "≈", story.KeyHarm: "‼",
	},
}

var asciiGlyphs = glyphs{
	dot: "o", lane: "|",
	line: "-", heavy: "=", late: ".",
	over:      map[string]string{"|": "+", "H": "H"},
	heavyOver: map[string]string{"|": "+", "H": "H"},
	left:      "<", right: ">", stop: "X", dots: "...",
	signs: map[story.Key]string{
		story.KeyHold: "H", story.KeyBelief: "b", story.KeyPause: "#", story.KeyWait: ":", story.KeyRise: "^",
		story.KeyOver: "X", story.KeyLost: "!", story.KeyDoubt: "?", story.KeyResult: "*",
		story.KeyNetwork: "~", story.KeyHarm: "%",
	},
}

func (g glyphs) sign(c story.Class) string { return cmp.Or(g.signs[c.Key], g.dot) }

func (g glyphs) sample(k story.Key) string {
	switch k {
	case story.KeyMessage:
		return g.dot + g.line + g.right
	case story.KeyRefused:
		return g.dot + g.line + g.stop
	case story.KeyHarm:
		return g.heavy + g.right
	case story.KeyLate:
		return g.late + g.late + g.right
	case story.KeyFold:
		return g.signs[story.KeyWait] + g.dots
	}
	return g.signs[k]
}
