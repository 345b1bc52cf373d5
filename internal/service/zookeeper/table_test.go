package zookeeper_test

import (
	"os"
	"testing"

	"github.com/fencelab/fencelab/internal/lab/labtest"
	"github.com/fencelab/fencelab/internal/service/zookeeper"
	"github.com/fencelab/fencelab/internal/tools/golden"
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
	head, err := os.ReadFile("testdata/table/head.md")
	if err != nil {
		t.Fatal(err)
	}
	golden.Check(t, "../../../docs/zookeeper/recipes.md", string(head)+labtest.Table(t, zookeeper.Service(), zookeeper.TableRecipes(), properties))
}
