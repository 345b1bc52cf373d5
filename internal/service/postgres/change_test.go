package postgres

import (
	"maps"
	"strings"
	"testing"
)

// TestParseChange: lines as PostgreSQL 15 writes them.
func TestParseChange(t *testing.T) {
	for line, want := range map[string]map[string]string{
		`table public.token_lock: UPDATE: name[text]:'/it''s a [lock]: 1' owner[text]:null expires[timestamp with time zone]:'2026-11-22 13:00:00.123+00' token[bigint]:7`: {
			"name": "/it's a [lock]: 1", "expires": "2026-11-22 13:00:00.123+00", "token": "7",
		},
		`table public.int_lock: DELETE: lock_key[character]:'a''' region[character varying]:'DEFAULT'`: {"lock_key": "a'", "region": "DEFAULT"},
	} {
		c, is, err := parseChange(line)
		if !is || err != nil || !maps.Equal(c.columns, want) {
			t.Errorf("%s: %v, %v, %v, want %v", line, c, is, err, want)
		}
	}
	for _, line := range []string{"BEGIN", "COMMIT", "message: transactional: 1 prefix: p, sz: 0 content:"} {
		if _, is, err := parseChange(line); is || err != nil {
			t.Errorf("%s: %v, %v, want no change", line, is, err)
		}
	}
	if _, _, err := parseChange("table public.int_lock: UPDATE: nonsense"); err == nil || !strings.Contains(err.Error(), "nonsense") {
		t.Errorf("a line of another form: %v", err)
	}
}
