package strictyaml

import (
	"fmt"
	"strings"
)

// mostMarks is how many commas, colons, brackets and braces the lists and mappings in
// brackets of a file of this size can have. For each of them the YAML library takes far
// more memory than for a letter, and no file that says something has as many.
func mostMarks(size int) int { return max(1<<10, size*2/5) }

// countMarks refuses a file with more marks than that, and returns what stands before the
// first one too many. In quoted texts, comments and block texts they do not count.
func countMarks(text string) (before string, err *Error) {
	most := mostMarks(len(text))
	if len(text) <= most {
		return text, nil
	}
	c := counter{rest: text, line: 1, column: 1, fresh: true}
	for c.rest != "" {
		c.step()
		if c.marks > most {
			before = text[:len(text)-len(c.rest)-1]
			return before, &Error{c.line, c.column, fmt.Sprintf("lists and mappings in brackets have more than %d commas, colons and brackets before this: %[1]d is the bound for a file of %d bytes", most, len(text))}
		}
	}
	return text, nil
}

// counter stands somewhere in a file.
type counter struct {
	rest         string
	line, column int
	marks        int
	open         int  // brackets and braces that have no end yet
	fresh        bool // a value can begin here
	parent       int  // the column of the key or dash to which a value on this line belongs
	begin        int  // the column at which the last text on this line begins
}

// step goes on by one character, or by all of a text that has no marks.
func (c *counter) step() {
	first := c.rest[0]
	switch {
	case first == '\n':
		c.next(1)
		c.fresh, c.parent = c.fresh || c.open == 0, 0
	case first == ' ' || first == '\t':
		c.next(1)
		if strings.HasPrefix(c.rest, "#") {
			c.next(lineEnd(c.rest))
		}
	case first == '#' && c.column == 1:
		c.next(lineEnd(c.rest))
	case c.fresh && (first == '"' || first == '\''):
		c.begin = c.column
		c.next(quoted(c.rest))
		c.fresh = false
	case c.fresh && c.open == 0 && (first == '|' || first == '>'):
		c.block()
	case strings.IndexByte(",:[]{}", first) >= 0 && (c.open > 0 || c.fresh):
		c.mark(first)
	case c.open == 0 && strings.IndexByte("-?:", first) >= 0 && (first == ':' || c.fresh) && blankAfter(c.rest):
		c.parent = c.column
		if first == ':' {
			c.parent = c.begin
		}
		c.next(1)
		c.fresh = true
	default:
		if c.fresh {
			c.begin = c.column
		}
		c.next(1)
		c.fresh = false
	}
}

func (c *counter) mark(first byte) {
	switch first {
	case '[', '{':
		c.open++
	case ']', '}':
		c.open = max(c.open-1, 0)
	}
	c.marks++
	c.next(1)
	c.fresh = true
}

// block goes on behind a text of lines that are indented more than what it belongs to.
func (c *counter) block() {
	c.next(lineEnd(c.rest))
	for c.rest != "" {
		line := c.rest[1:] // which begins with the end of the line before
		line = line[:lineEnd(line)]
		if blank := strings.TrimLeft(line, " "); blank != "" && len(line)-len(blank) < c.parent {
			break
		}
		c.next(1 + len(line))
	}
	c.fresh = true
}

func (c *counter) next(n int) {
	for _, r := range c.rest[:n] {
		if c.column++; r == '\n' {
			c.line, c.column = c.line+1, 1
		}
	}
	c.rest = c.rest[n:]
}

func lineEnd(s string) int {
	if i := strings.IndexByte(s, '\n'); i >= 0 {
		return i
	}
	return len(s)
}

func blankAfter(s string) bool { return len(s) == 1 || strings.IndexByte(" \t\n", s[1]) >= 0 }

// quoted is how long the quoted text is with which s begins; without an end, all of s.
func quoted(s string) int {
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] == '\\' && s[0] == '"', s[i] == s[0] && s[0] == '\'' && strings.HasPrefix(s[i+1:], "'"):
			i++
		case s[i] == s[0]:
			return i + 1
		}
	}
	return len(s)
}
