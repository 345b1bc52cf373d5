package fence

import "fmt"

// Mode is how a tenure holds its lock: alone, or together with others. With a
// lock of readers and writers a writer's claims are Exclusive and a reader's are
// Shared. What either may do a Mode does not say.
//
// The lock service hands out the tokens of both modes in one order: each grant
// has a higher token than all earlier grants of the lock.
type Mode uint8

// The modes. The zero Mode is Exclusive.
const (
	Exclusive Mode = iota // no other tenure of the lock goes on at the same time
	Shared                // other shared tenures may go on, and no exclusive one
)

// String returns "exclusive" or "shared".
func (m Mode) String() string {
	switch m {
	case Exclusive:
		return "exclusive"
	case Shared:
		return "shared"
	}
	return fmt.Sprintf("mode %d", uint8(m))
}

// ParseMode reads what String returns. The error wraps ErrInvalidMode.
func ParseMode(s string) (Mode, error) {
	for _, m := range []Mode{Exclusive, Shared} {
		if s == m.String() {
			return m, nil
		}
	}
	return 0, fmt.Errorf("%w: %.*q, want %v or %v", ErrInvalidMode, maxQuoted, s, Exclusive, Shared)
}

// MarshalText writes the mode as String does.
func (m Mode) MarshalText() ([]byte, error) { return []byte(m.String()), nil }

// UnmarshalText reads the mode as ParseMode does.
func (m *Mode) UnmarshalText(text []byte) (err error) {
	*m, err = ParseMode(string(text))
	return err
}
