package sqlite_test

import (
	"testing"

	"github.com/fencelab/fencelab/internal/lab/labtest"
	"github.com/fencelab/fencelab/internal/service/sqlite"
)

// TestTable: what docs say of each recipe is what becomes of the stories.
func TestTable(t *testing.T) {
	pause := labtest.Pause // waits for the end of a lease
	pause.Not = func(r labtest.Recipe) bool { return r.Name == sqlite.Immediate }
	properties := []labtest.Property{
		labtest.Exclusive, labtest.Reentrant, labtest.Try, labtest.Interruptible, labtest.FairQueue, labtest.Expires, labtest.Token, pause,
		{Name: "clocks", Story: "../sqlservice/testdata/table/clock.yaml"},
	}
	labtest.Table(t, "docs/sqlite", sqlite.Service(), sqlite.TableRecipes(), properties)
}
