// Package mariadb is the lock service MariaDB: a real server, the locks that people build on
// it, and an account of tenures by what its own triggers and procedures tell.
package mariadb

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/url"
	"os"
	"time"

	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/service/mariadb/mariadbproc"
	"github.com/fencelab/fencelab/internal/service/sqlservice"
	"github.com/fencelab/fencelab/internal/setting"
)

// Service is MariaDB, where the environment says that it is.
func Service() *service.Service { return serviceAt(os.Getenv(urlEnv)) }

// serviceAt is the one at a URL; "" is one that a run starts.
func serviceAt(url string) *service.Service {
	at := placesBy(url)
	s := &service.Service{
		Service: scenario.Service{
			Name: Name, About: "The lock service.",
			World: worldSettings, Client: clientSettings,
			Nodes: nodes.Name + "1", Halfway: true,
			Compares: func(client scenario.Client) bool { return sqlservice.Compares(recipes, client) },
			Check:    check,
		},
		Faults: faults,

		Found: func() (where, bring string) { return mariadbproc.Program(), mariadbproc.Install },
		Where: whereIs, At: findAt,
		Command: mariadbproc.Command, Start: start, Launch: launch, Join: at.join, Reach: at.reach,
		Greets: true,

		Dial: Dial, DefaultEndpoints: []string{"127.0.0.1:3306"},
		Peer:    func(client setting.Values) string { return service.RecipeOf(recipes, client).Peer },
		PeerEnv: at.peerEnv,
		Shows:   func(client setting.Values) string { return service.RecipeOf(recipes, client).Shows },
		Bounds: func(world setting.Values, clients map[string]scenario.Client) (map[string]time.Duration, time.Duration) {
			return sqlservice.Bounds(recipes, world.Time(settingIdle), clients)
		},
	}
	if url != "" {
		s.Env = []string{urlEnv + "=" + url}
	}
	return s
}

const whereIs = "the URL of one that is there already"

// findAt takes a URL with a user, a password and TLS where there are any.
func findAt(where string) (*service.Service, []string, error) {
	want := fmt.Errorf("want %s such as mariadb://USER:PASSWORD@HOST:PORT", whereIs)
	u, err := url.Parse(where)
	switch {
	case err != nil:
		return nil, nil, fmt.Errorf("%w: %w", want, err)
	case u.Scheme != "mariadb" && u.Scheme != "mysql" || u.Hostname() == "":
		return nil, nil, want
	}
	s := serviceAt(where)
	s.Lacks = thereLacks
	return s, []string{net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), "3306"))}, nil
}

// thereLacks is what a server lacks that is there already.
func thereLacks(v *scenario.Variant) string {
	switch {
	case v.World.Service != Name:
		return ""
	case v.World.Settings.Time(settingIdle) > 0:
		return "a MariaDB that is there already has a wait_timeout of its own"
	case v.World.Settings.Flag(settingRollback):
		return "a MariaDB that is there already has an innodb_rollback_on_timeout of its own"
	}
	return ""
}

// nodes is what a story calls its server.
var nodes = service.Nodes{Name: Name, One: "server of MariaDB", Many: "MariaDB"}

var faults = append(sqlservice.Faults(nodes), &hold, &letGo)

// check finds settings that do not go together.
func check(w scenario.World, clients map[string]scenario.Client) *scenario.Conflict {
	return cmp.Or(
		sqlservice.CheckCompare(recipes, w, clients),
		sqlservice.CheckUnlock(recipes, clients, &intLock, &intLockDBClock),
		sqlservice.CheckWrites(recipes, w, clients),
		sqlservice.CheckWait(recipes, w, clients),
		sqlservice.CheckPeers(recipes, w, clients),
		checkOnTimeout(w, clients))
}

// reachDeadline is for how long a MariaDB that is there already is asked.
const reachDeadline = 10 * time.Second

// reach asks one that is there already. It tries what a run needs rights for.
func (at placeAt) reach(ctx context.Context, endpoints []string) error {
	if len(endpoints) != 1 || !sqlservice.IsAddress(endpoints[0]) {
		return fmt.Errorf("mariadb at %q: want one HOST:PORT", endpoints)
	}
	ctx, cancel := context.WithTimeout(ctx, reachDeadline)
	defer cancel()
	place := at(endpoints[0])
	conn, err := place.connect(ctx, "")
	if err != nil {
		return fmt.Errorf("mariadb: %w", err)
	}
	defer hangUp(conn)
	if err := place.try(ctx, conn); err != nil {
		return fmt.Errorf("mariadb: its user has no right to what runs do. %s: %w", wantRights, err)
	}
	return nil
}

// wantRights is what the user of a MariaDB needs that is there already.
const wantRights = "It needs GRANT ALL ON `gcsim-%`.*, and GRANT PROCESS ON *.*; where the server writes a binary log it also needs SUPER, or the server log_bin_trust_function_creators = 1"
