package etcd_test

import (
	"testing"

	"github.com/fencelab/fencelab/internal/lab/labtest"
	"github.com/fencelab/fencelab/internal/service/etcd"
)

// TestTable: what docs say of each lock is what becomes of the stories.
func TestTable(t *testing.T) {
	lock := func(name, client string) labtest.Recipe {
		return labtest.Recipe{Name: name, Service: etcd.Name, Client: client, Against: client, Token: true, Whole: true}
	}
	reader := lock("shared", "mode: shared")
	reader.Against, reader.Shared = "mode: exclusive", true
	shared := func(r labtest.Recipe) bool { return r.Shared }
	token, fair := labtest.Token, labtest.FairQueue
	token.Not, fair.Not = shared, shared
	properties := []labtest.Property{
		labtest.Exclusive, labtest.Shared, labtest.Reentrant, labtest.Try, labtest.Interruptible, fair, labtest.Expires, token, labtest.Pause,
		{Name: "restart", Story: "testdata/table/restart.yaml"},
	}
	labtest.Table(t, "docs", services[0], []labtest.Recipe{lock("own", "session: own"), lock("kept", "session: kept"), reader}, properties)
}
