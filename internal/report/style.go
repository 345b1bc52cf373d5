package report

import (
	"charm.land/lipgloss/v2"
)

// ink is how a sign in the terminal looks.
type ink int

// The inks.
const (
	plainInk ink = iota
	strongInk
	dimInk
	holdInk
	pauseInk
	goodInk
	badInk
	warnInk
	shieldInk
)

// inks use the sixteen colours of the terminal's own theme, so that they go
// with a light one and a dark one.
var inks = [...]lipgloss.Style{
	plainInk:  lipgloss.NewStyle(),
	strongInk: lipgloss.NewStyle().Bold(true),
	dimInk:    lipgloss.NewStyle().Faint(true),
	holdInk:   lipgloss.NewStyle().Foreground(lipgloss.Green),
	pauseInk:  lipgloss.NewStyle().Foreground(lipgloss.Yellow),
	goodInk:   lipgloss.NewStyle().Foreground(lipgloss.Green).Bold(true),
	badInk:    lipgloss.NewStyle().Foreground(lipgloss.Red).Bold(true),
	warnInk:   lipgloss.NewStyle().Foreground(lipgloss.Yellow).Bold(true),
	shieldInk: lipgloss.NewStyle().Foreground(lipgloss.Cyan).Bold(true),
}

// on returns s in this ink.
func (i ink) on(s string) string { return inks[i].Render(s) }

// ink is how a word of this tone looks; with: one of none.
func (t Tone) ink(with ink) ink {
	switch t {
	case Good:
		return goodInk
	case Bad:
		return badInk
	case Warn:
		return warnInk
	}
	return with
}

// ink is how the arrow and the strong words of a row look.
func (c Class) ink() ink {
	switch c {
	case ClassGrant, ClassAdmit:
		return goodInk
	case ClassRefuse:
		return shieldInk
	case ClassHarm, ClassBlock, ClassKill, ClassExpiry, ClassError:
		return badInk
	case ClassPause, ClassResume, ClassLost, ClassFail, ClassUnknown, ClassNetwork:
		return pauseInk
	}
	return strongInk
}

// glyphs are the signs of a picture in a terminal, each one cell wide.
type glyphs struct {
	lane, hold, pause              string
	line, cross, crossHold         string
	heavy, heavyCross              string
	late                           string
	left, right, stop              string
	dot, over, lost, doubt, result string
	network, rise, wait, dots      string
	harm                           string
}

var unicodeGlyphs = glyphs{
	lane: "│", hold: "┃", pause: "▓",
	line: "─", cross: "┼", crossHold: "╂",
	heavy: "━", heavyCross: "┿",
	late: "╌",
	left: "◀", right: "▶", stop: "✗",
	dot: "●", over: "✗", lost: "!", doubt: "?", result: "◆",
	network: "≈", rise: "▲", wait: "┊", dots: "…",
	harm: "‼",
}

var asciiGlyphs = glyphs{
	lane: "|", hold: "H", pause: "#",
	line: "-", cross: "+", crossHold: "H",
	heavy: "=", heavyCross: "+",
	late: ".",
	left: "<", right: ">", stop: "X",
	dot: "o", over: "X", lost: "!", doubt: "?", result: "*",
	network: "~", rise: "^", wait: ":", dots: "...",
	harm: "%",
}

// mark is the sign in the lane of a row that has no arrow.
func (g glyphs) mark(c Class) string {
	switch c {
	case ClassExpiry, ClassKill, ClassFail:
		return g.over
	case ClassHarm, ClassBlock:
		return g.harm
	case ClassLost:
		return g.lost
	case ClassUnknown:
		return g.doubt
	case ClassFinal:
		return g.result
	case ClassNetwork:
		return g.network
	}
	return g.dot
}

// sample is what a legend shows of a key.
func (g glyphs) sample(k key) string {
	switch k {
	case keyHold:
		return g.hold
	case keyPause:
		return g.pause
	case keyMessage:
		return g.dot + g.line + g.right
	case keyRefused:
		return g.dot + g.line + g.stop
	case keyHarm:
		return g.heavy + g.right + " " + g.harm
	case keyOver:
		return g.over
	case keyLost:
		return g.lost
	case keyDoubt:
		return g.doubt
	case keyLate:
		return g.late + g.late + g.right
	case keyNetwork:
		return g.network
	case keyRise:
		return g.rise
	case keyResult:
		return g.result
	case keyWait:
		return g.wait
	}
	return g.wait + g.dots
}
