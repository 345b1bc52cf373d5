package kubernetes_test

import (
	"testing"

	"github.com/fencelab/fencelab/internal/lab/labtest"
	"github.com/fencelab/fencelab/internal/service/kubernetes"
)

// TestTable: what docs say of each recipe is what becomes of the stories.
func TestTable(t *testing.T) {
	needs(t)
	t.Parallel()
	try, interruptible, fair := labtest.Try, labtest.Interruptible, labtest.Fair
	try.Not, interruptible.Not, fair.Not = kubernetes.Keeps, kubernetes.Keeps, kubernetes.Keeps
	properties := []labtest.Property{
		labtest.Exclusive, labtest.Reentrant, try, interruptible, fair, labtest.Expires, labtest.Token, labtest.Pause,
		{Name: "restart", Story: "testdata/table/restart.yaml"},
	}
	labtest.Table(t, "docs/kubernetes", services[0], kubernetes.TableRecipes(), properties)
}
