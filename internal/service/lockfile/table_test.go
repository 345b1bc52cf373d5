package lockfile_test

import (
	"testing"

	"github.com/fencelab/fencelab/internal/lab/labtest"
	"github.com/fencelab/fencelab/internal/service/lockfile"
)

// TestTable: what docs say of each recipe is what becomes of the stories.
func TestTable(t *testing.T) {
	t.Parallel()
	properties := []labtest.Property{
		labtest.Exclusive, labtest.Reentrant, labtest.Try, labtest.Interruptible, labtest.Fair, labtest.Expires, {Name: "token", Story: "testdata/table/token.yaml"}, labtest.Pause,
		{Name: "breakers", Story: "testdata/table/breakers.yaml"},
	}
	labtest.Table(t, "docs/lockfile", services[0], lockfile.TableRecipes(), properties)
}
