package zookeeper_test

import (
	"testing"

	"github.com/fencelab/fencelab/internal/lab/labtest"
	"github.com/fencelab/fencelab/internal/service/zookeeper"
)

// TestTable: what docs say of each recipe is what becomes of the stories.
func TestTable(t *testing.T) {
	needs(t)
	shared := func(r labtest.Recipe) bool { return r.Shared }
	token, fair := labtest.Token, labtest.FairQueue
	token.Not, fair.Not = shared, shared
	properties := []labtest.Property{
		labtest.Exclusive, labtest.Shared, labtest.Reentrant, labtest.Try, labtest.Interruptible, fair, labtest.Expires, token, labtest.Pause,
		{Name: "orphan", Story: "testdata/table/orphan.yaml"},
		{Name: "restart", Story: "testdata/table/restart.yaml"},
	}
	labtest.Table(t, "docs/zookeeper", zookeeper.Service(), zookeeper.TableRecipes(), properties)
}
