// Package scopekey names the keys of scopes in services that take some signs for more than a name.
package scopekey

import (
	"fmt"
	"strings"

	"github.com/fencelab/fencelab/pkg/fence"
)

// longest is how many bytes a scope has at most. Each of them may become three bytes of a key.
const longest = 1000

// Of is the key of a scope: letters, digits and some signs stay, and the other bytes are written as =XX.
func Of(scope string) (string, error) {
	if scope == "" || len(scope) > longest {
		return "", fmt.Errorf("%w: it has %d bytes, want 1 to %d", fence.ErrInvalidScope, len(scope), longest)
	}
	var b strings.Builder
	for i := range len(scope) {
		switch c := scope[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '/', c == '-', c == '_':
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "=%02X", c)
		}
	}
	return b.String(), nil
}
