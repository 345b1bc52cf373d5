// Package mariadb is the lock service MariaDB: a real server, the locks that people build on
// it, and an account of tenures by what its own triggers and procedures tell.
package mariadb

import (
	"context"
	"embed"
	"os"
	"slices"
	"time"

	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/service/mariadb/mariadbproc"
	"github.com/fencelab/fencelab/internal/service/sqlservice"
	"github.com/fencelab/fencelab/pkg/lock/sqllock"
)

const Name = "mariadb"

// Service is MariaDB, where the environment says that it is.
func Service() *service.Service { return serviceAt(os.Getenv(urlEnv)) }

// serviceAt is the service with the server at a URL; "" is a server that a run starts.
func serviceAt(url string) *service.Service {
	d := sqlservice.About{
		Rules: rules, Recipes: recipes, Open: open, Server: launch, Pair: &pair, Servers: newServers, Rights: rights, JDBC: jdbc,
		URL: url, Variable: urlEnv, OwnURL: ownURL,
	}
	d.Service = service.Service{
		Service: scenario.Service{Name: Name, World: worldSettings, Client: clientSettings, Nodes: Name + "[12]"},
		Faults:  faults,
		Found:   func() (where, bring string) { return mariadbproc.Program(), mariadbproc.Install },
		At:      find, DefaultEndpoints: []string{"127.0.0.1:3306"},
		Command: mariadbproc.Command, Greets: true, Model: inModel,
	}
	return d.Made()
}

var faults = slices.Concat(sqlservice.Faults(service.Nodes{Name: Name, One: "server of MariaDB", Many: "MariaDB"}),
	sqlservice.StandbyFaults(Name, "MariaDB"), []*service.Fault{hold, letGo})

// find takes a URL with a user, a password and TLS where there are any.
func find(where string) (*service.Service, []string, error) {
	addr, err := sqlservice.AddressIn(where, "mariadb://USER:PASSWORD@HOST:PORT", "3306", "mariadb", "mysql")
	if err != nil {
		return nil, nil, err
	}
	s := serviceAt(where)
	s.Lacks = thereLacks
	return s, []string{addr}, nil
}

// thereLacks is what a server lacks that is there already.
func thereLacks(v *scenario.Variant) string {
	switch {
	case v.World.Service != Name:
		return ""
	case v.World.Settings.Time(sqlservice.SettingIdle) > 0:
		return "a MariaDB that is there already has a wait_timeout of its own"
	case v.World.Settings.Flag(settingRollback):
		return "a MariaDB that is there already has an innodb_rollback_on_timeout of its own"
	}
	return ""
}

type recipe = sqlservice.Recipe

//go:embed sql/*.sql
var files embed.FS

var statement = sqlservice.Statements(files)

var recipes = []*recipe{&token, &intLock, &intLockDBClock, &springJDBC, &shedLock, &shedLockDBTime, &forUpdate, &forUpdateUnindexed, &forUpdateNaive, &getLock, &version, &status}

// Those of all databases.
var (
	token          = sqlservice.Token(sqllock.MySQL)
	intLock        = sqlservice.IntLock()
	intLockDBClock = sqlservice.IntLockDBClock(now)
	springJDBC     = sqlservice.SpringJDBC()
	shedLock       = sqlservice.ShedLock()
	shedLockDBTime = sqlservice.ShedLockDBTime()
	version        = sqlservice.Version(look)
	status         = sqlservice.Status(look)
)

func now(ctx context.Context, conn sqlservice.Conn) (now time.Time, err error) {
	err = conn.Row(ctx, "SELECT SYSDATE(6)").Scan(&now)
	return now, err
}

// Those that a connection has. In one request a procedure takes the lock and tells the account of it.
var (
	forUpdate = recipe{
		ID: "for-update", Shows: sqlservice.NoToken, Hold: sqlservice.Holding("CALL for_update($1, $2)"),
		Text: "SELECT … FOR UPDATE of a row that is there; the holder keeps the transaction open.",
	}
	forUpdateUnindexed = recipe{
		ID: "for-update-unindexed", Shows: sqlservice.NoToken, Hold: sqlservice.Holding("CALL for_update_unindexed($1, $2)"),
		Text: "As for-update, of a row that is found by a column without an index.",
	}
	forUpdateNaive = recipe{
		ID: "for-update-naive", Shows: sqlservice.NoToken, Hold: sqlservice.Holding("CALL for_update_naive($1, $2)"),
		Text: "As for-update, of a row that is inserted where there is none.",
	}
	getLock = recipe{
		ID: "get-lock", Shows: sqlservice.NoToken, Session: true, Hold: sqlservice.Holding("CALL take_get_lock($1, $2)"),
		Text:    "GET_LOCK, which the session has until RELEASE_LOCK or its end.",
		Release: sqlservice.Holding("DO RELEASE_LOCK($1)"),
	}
)
