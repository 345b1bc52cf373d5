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
	token := labtest.Token
	token.Not = shared
	properties := []labtest.Property{
		labtest.Exclusive, labtest.Shared, labtest.Try, {Name: "fair", Story: "testdata/table/fair.yaml", Not: shared}, labtest.Expires, token, labtest.Pause,
		{Name: "orphan", Story: "testdata/table/orphan.yaml"},
		{Name: "restart", Story: "testdata/table/restart.yaml"},
	}
	labtest.Table(t, zookeeper.Service(), zookeeper.TableRecipes(), properties)
}
