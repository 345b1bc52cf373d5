package sqlservice_test

import (
	"testing"

	"github.com/fencelab/fencelab/internal/service/sqlservice"
)

// TestKeyOf: it is Java's UUID.nameUUIDFromBytes.
func TestKeyOf(t *testing.T) {
	if got, want := sqlservice.KeyOf("hello"), "5d41402a-bc4b-3a76-b971-9d911017c592"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestDatabaseOf: a lock with a run's prefix is in the run's database.
func TestDatabaseOf(t *testing.T) {
	for lock, want := range map[string]string{
		"/lock": "", "/gcsim-": "", "/gcsim-TADKZKKA4TAMFVYJYNAZU436V": "",
		"/gcsim-TADKZKKA4TAMFVYJYNAZU436VM":      "gcsim-TADKZKKA4TAMFVYJYNAZU436VM",
		"/gcsim-TADKZKKA4TAMFVYJYNAZU436VM/lock": "gcsim-TADKZKKA4TAMFVYJYNAZU436VM",
	} {
		if got := sqlservice.DatabaseOf(lock); got != want {
			t.Errorf("%s is in %q, want %q", lock, got, want)
		}
	}
}
