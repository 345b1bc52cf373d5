package dynamodb_test

import (
	"testing"

	"github.com/fencelab/fencelab/internal/lab/labtest"
	"github.com/fencelab/fencelab/internal/service/dynamodb"
)

// TestTable: what docs say of each recipe is what becomes of the stories.
func TestTable(t *testing.T) {
	needs(t)
	t.Parallel()
	// What has no lease has no token either, and nothing ends it.
	unleased := func(r labtest.Recipe) bool { return !r.Token }
	pause := labtest.Pause
	pause.Not = unleased
	properties := []labtest.Property{
		labtest.Exclusive, labtest.Reentrant, labtest.Try, labtest.Interruptible, labtest.Fair, {Name: "expires", Story: "testdata/table/expires.yaml"}, labtest.Token, pause,
		{Name: "late unlock", Story: "testdata/table/late.yaml", Not: func(r labtest.Recipe) bool { return unleased(r) || dynamodb.Retakes(r) }},
		{Name: "late renewal", Story: "testdata/table/renewal.yaml", Not: unleased},
		{Name: "clock ahead", Story: "testdata/table/ahead.yaml"},
		{Name: "token after unlock", Story: "testdata/table/kept.yaml", Not: unleased},
	}
	labtest.Table(t, "docs/dynamodb", services[0], dynamodb.TableRecipes(), properties)
}
