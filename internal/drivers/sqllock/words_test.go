package sqllock_test

import (
	"testing"

	"github.com/fencelab/fencelab/internal/drivers/sqltest"
	"github.com/fencelab/fencelab/pkg/lock"
)

// wantWords checks which words of the holder are told.
func (p party) wantWords(t *testing.T, want string) {
	t.Helper()
	state, err := p.Backend.(lock.Inspector).Inspect(t.Context(), scope)
	if err != nil || len(state.Holders) != 1 || state.Holders[0].Words != want {
		t.Errorf("Inspect tells of %+v, %v; want a holder with the words %q", state, err, want)
	}
}

// testTableWithoutWords: a table of an earlier version does, and so does an earlier version with
// a table of this one. It takes the lock and leaves the words of the holder before.
func testTableWithoutWords(t *testing.T, d *sqltest.Database) {
	a := join(t, d, own(long))
	ctx := lock.WithWords(t.Context(), "web7")
	take := func() lock.Tenure {
		t.Helper()
		tenure, err := a.TryLock(ctx, scope)
		if err != nil {
			t.Fatal(err)
		}
		endWith(t, tenure)
		return tenure
	}
	execute(t, a.db, "ALTER TABLE fence_locks DROP COLUMN words")
	tenure := take()
	a.wantWords(t, "")
	wantUnlock(t, tenure)

	execute(t, a.db, "ALTER TABLE fence_locks ADD COLUMN words "+map[string]string{"pgx": "text", "mysql": "varbinary(255)", "sqlite": "text"}[d.Driver])
	take()
	a.wantWords(t, "web7")
	execute(t, a.db, "UPDATE fence_locks SET owner = 'another', token = token + 1")
	a.wantWords(t, "")
}
