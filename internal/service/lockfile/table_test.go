package lockfile_test

import (
	"os"
	"testing"

	"github.com/fencelab/fencelab/internal/lab/labtest"
	"github.com/fencelab/fencelab/internal/service/lockfile"
	"github.com/fencelab/fencelab/internal/tools/golden"
)

// TestTable: what docs say of each recipe is what becomes of the stories.
func TestTable(t *testing.T) {
	t.Parallel()
	head, err := os.ReadFile("testdata/table/head.md")
	if err != nil {
		t.Fatal(err)
	}
	properties := []labtest.Property{
		labtest.Exclusive, labtest.Try, labtest.Fair, labtest.Expires, {Name: "token", Story: "testdata/table/token.yaml"}, labtest.Pause,
		{Name: "breakers", Story: "testdata/table/breakers.yaml"},
	}
	golden.Check(t, "../../../docs/lockfile/recipes.md", string(head)+labtest.Table(t, services[0], lockfile.TableRecipes(), properties))
}
