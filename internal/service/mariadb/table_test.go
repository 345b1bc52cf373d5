package mariadb_test

import (
	"os"
	"testing"

	"github.com/fencelab/fencelab/internal/lab/labtest"
	"github.com/fencelab/fencelab/internal/service/mariadb"
	"github.com/fencelab/fencelab/internal/tools/golden"
)

// TestTable: what docs say of each recipe is what becomes of the stories.
func TestTable(t *testing.T) {
	program(t, "to tell the stories on")
	properties := []labtest.Property{
		labtest.Exclusive, labtest.Try, {Name: "fair", Story: "../sqlservice/testdata/table/fair.yaml"}, labtest.Expires, labtest.Token, labtest.Pause,
		{Name: "restart", Story: "../sqlservice/testdata/table/restart.yaml"},
		{Name: "clocks", Story: "../sqlservice/testdata/table/clock.yaml"},
	}
	head, err := os.ReadFile("testdata/table/head.md")
	if err != nil {
		t.Fatal(err)
	}
	golden.Check(t, "../../../docs/mariadb/recipes.md", string(head)+labtest.Table(t, mariadb.Service(), mariadb.TableRecipes(), properties))
}
