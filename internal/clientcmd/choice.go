package clientcmd

import (
	"fmt"
	"slices"
	"strings"
)

// choice is a flag that has one of some values.
type choice struct {
	value string
	of    []string
}

// oneOf is a choice whose default is the first.
func oneOf(values ...string) choice { return choice{values[0], values} }

func (c *choice) String() string { return c.value }

func (c *choice) Set(s string) error {
	if !slices.Contains(c.of, s) {
		return fmt.Errorf("want %s", strings.Join(c.of, ", "))
	}
	c.value = s
	return nil
}

func (c *choice) Type() string { return strings.Join(c.of, "|") }
