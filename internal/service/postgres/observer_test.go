package postgres

import (
	"slices"
	"testing"
)

// TestMessage: lines as PostgreSQL 15 writes them. What is no message to the account is none.
func TestMessage(t *testing.T) {
	for line, want := range map[string][]string{
		"message: transactional: 1 prefix: fencelab-row, sz: 15 content:{\"a\": \"it's\"}":       {"row", `{"a": "it's"}`},
		"message: transactional: 0 prefix: fencelab-taken, sz: 12 content:{\"a\":\n\"b: c\"}":    {"taken", "{\"a\":\n\"b: c\"}"},
		"message: transactional: 1 prefix: flush, sz: 0 content:":                                nil,
		"table public.int_lock: DELETE: lock_key[character]:'a''' region[text]:'fencelab-row, '": nil,
		"table public.resource: UPDATE: data[jsonb]:'prefix: fencelab-row, sz: 2 content:{}'":    nil,
		"COMMIT": nil,
	} {
		var got []string
		if found := message.FindStringSubmatch(line); found != nil {
			got = found[1:]
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", line, got, want)
		}
	}
}
