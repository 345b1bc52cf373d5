package postgres_test

import (
	"testing"

	"github.com/fencelab/fencelab/internal/lab/labtest"
	"github.com/fencelab/fencelab/internal/service/postgres"
)

// TestTable: what docs say of each recipe is what becomes of the stories.
func TestTable(t *testing.T) {
	program(t, "to tell the stories on")
	properties := []labtest.Property{
		labtest.Exclusive, labtest.Reentrant, labtest.Try, labtest.Interruptible, labtest.FairQueue, labtest.Expires, labtest.Token, labtest.Pause,
		{Name: "restart", Story: "../sqlservice/testdata/table/restart.yaml"},
		{Name: "clocks", Story: "../sqlservice/testdata/table/clock.yaml"},
	}
	labtest.Table(t, "docs/postgres", postgres.Service(), postgres.TableRecipes(), properties)
}
