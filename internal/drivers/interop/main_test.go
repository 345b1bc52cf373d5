// Package interop_test has tests that locks of ours and the originals, in Java, are one lock:
// on one server, each pair in a process for each side.
package interop_test

import (
	"testing"

	"github.com/go-sql-driver/mysql"
	"go.uber.org/goleak"

	"github.com/fencelab/fencelab/internal/platform/proc"
	"github.com/fencelab/fencelab/internal/platform/proc/proctest"
	"github.com/fencelab/fencelab/internal/service/etcd/etcdcmd"
	"github.com/fencelab/fencelab/internal/service/mariadb/mariadbproc"
	"github.com/fencelab/fencelab/internal/service/postgres/postgresproc"
	"github.com/fencelab/fencelab/internal/service/redis"
	"github.com/fencelab/fencelab/internal/service/zookeeper/zkproc"
)

func TestMain(m *testing.M) {
	proctest.Play(redis.Service().Command(),
		etcdcmd.Command(), postgresproc.Command(), mariadbproc.Command(), zkproc.Command(), ourCommand(), proc.Janitor())
	// What it would log it returns as well.
	if err := mysql.SetLogger(&mysql.NopLogger{}); err != nil {
		panic(err)
	}
	proctest.SideBySide(6)
	goleak.VerifyTestMain(m)
}
