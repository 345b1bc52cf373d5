package elasticsearch_test

import (
	"os"
	"testing"

	"github.com/fencelab/fencelab/internal/lab/labtest"
	"github.com/fencelab/fencelab/internal/service/elasticsearch"
	"github.com/fencelab/fencelab/internal/tools/golden"
)

// TestTable: what docs say of each recipe is what becomes of the stories.
func TestTable(t *testing.T) {
	of := onNode(node.Get(t))
	token := func(r labtest.Recipe) bool { return !r.Token }
	pause := labtest.Pause
	pause.Not = token // without a lease nobody follows a holder that stands still
	properties := []labtest.Property{
		labtest.Exclusive, labtest.Shared, labtest.Try, labtest.Fair, labtest.Expires, labtest.Token, pause,
		{Name: "own", Story: "testdata/table/others.yaml", Not: func(r labtest.Recipe) bool { return r.Shared }}, // it gets the lock
	}
	head, err := os.ReadFile("testdata/table/head.md")
	if err != nil {
		t.Fatal(err)
	}
	golden.Check(t, "../../../docs/elasticsearch/recipes.md", string(head)+labtest.Table(t, of, elasticsearch.TableRecipes(), properties))
}
