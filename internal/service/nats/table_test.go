package nats_test

import (
	"testing"

	"github.com/fencelab/fencelab/internal/lab/labtest"
	"github.com/fencelab/fencelab/internal/service/nats"
)

// TestTable: what docs say of each recipe is what becomes of the stories.
func TestTable(t *testing.T) {
	needs(t)
	t.Parallel()
	token, pause := labtest.Token, labtest.Pause
	token.Not, pause.Not = nats.Stays, nats.Stays
	properties := []labtest.Property{
		labtest.Exclusive, labtest.Reentrant, labtest.Try, labtest.Interruptible, labtest.Fair, {Name: "expires", Story: "testdata/table/expires.yaml"}, token, pause,
		{Name: "late unlock", Story: "testdata/table/late.yaml", Not: nats.Stays},
		{Name: "restart", Story: "testdata/table/restart.yaml"},
	}
	labtest.Table(t, "docs/nats", services[0], nats.TableRecipes(), properties)
}
