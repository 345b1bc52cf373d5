package elasticsearch_test

import (
	"testing"

	"github.com/fencelab/fencelab/internal/lab/labtest"
	"github.com/fencelab/fencelab/internal/service/elasticsearch"
)

// TestTable: what docs say of each recipe is what becomes of the stories.
func TestTable(t *testing.T) {
	of := onNode(node.Get(t))
	token := func(r labtest.Recipe) bool { return !r.Token }
	pause := labtest.Pause
	pause.Not = token // without a lease nobody follows a holder that stands still
	properties := []labtest.Property{
		labtest.Exclusive, labtest.Shared, labtest.Reentrant, labtest.Try, labtest.Interruptible, labtest.Fair, labtest.Expires, labtest.Token, pause,
		{Name: "own", Story: "testdata/table/others.yaml", Not: func(r labtest.Recipe) bool { return r.Shared }}, // it gets the lock
	}
	labtest.Table(t, "docs/elasticsearch", of, elasticsearch.TableRecipes(), properties)
}
