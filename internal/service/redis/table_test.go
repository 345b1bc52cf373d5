package redis_test

import (
	"testing"

	"github.com/fencelab/fencelab/internal/lab/labtest"
	"github.com/fencelab/fencelab/internal/service/redis"
	"github.com/fencelab/fencelab/internal/service/redis/redisproc"
	"github.com/fencelab/fencelab/internal/tools/need"
)

// TestTable: what docs say of each recipe is what becomes of the stories.
func TestTable(t *testing.T) {
	if redisproc.Program() == "" {
		need.Program(t, "redis-server", "to tell the stories on")
	}
	replicated := func(r labtest.Recipe) bool { return r.World != "" } // nodes of a majority have no replicas
	properties := []labtest.Property{
		labtest.Exclusive, labtest.Shared, labtest.Reentrant, labtest.Try, labtest.Interruptible, labtest.Fair, labtest.Expires, labtest.Token, labtest.Pause,
		{Name: "restart with nothing", Story: "testdata/table/restart-none.yaml"},
		{Name: "restart with all", Story: "testdata/table/restart-always.yaml"},
		{Name: "failover", Story: "testdata/table/failover.yaml", Not: replicated},
	}
	labtest.Table(t, "docs/redis", redis.Service(), redis.TableRecipes(), properties)
}
