// Package kube reads objects of Kubernetes, and writes them on condition that they are as they were read.
package kube

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/fencelab/fencelab/pkg/fence"
)

const (
	longest = 253 // bytes of an object's name
	escaped = "scope-"
)

// plain is what Kubernetes takes as a name.
var plain = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$`)

// Name is the name of a scope's object: the scope itself, if Kubernetes takes it as a name. Of other scopes small letters and
// digits stay, the other bytes are written as -xx, and the name begins with "scope-".
func Name(scope string) (string, error) {
	name := scope
	if !plain.MatchString(scope) || strings.HasPrefix(scope, escaped) {
		var b strings.Builder
		b.WriteString(escaped)
		for i := range len(scope) {
			switch c := scope[i]; {
			case 'a' <= c && c <= 'z', '0' <= c && c <= '9':
				b.WriteByte(c)
			default:
				fmt.Fprintf(&b, "-%02x", c)
			}
		}
		name = b.String()
	}
	if scope == "" || len(name) > longest {
		return "", fmt.Errorf("%w: it has %d bytes, and its object's name %d: want 1 to %d of both", fence.ErrInvalidScope, len(scope), len(name), longest)
	}
	return name, nil
}
