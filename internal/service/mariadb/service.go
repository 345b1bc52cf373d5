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

	"github.com/spf13/cobra"

	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/service/mariadb/mariadbproc"
	"github.com/fencelab/fencelab/internal/service/sqlservice"
	"github.com/fencelab/fencelab/internal/setting"
)

// Service is MariaDB. The zero value starts its own servers.
type Service struct {
	Dialer
	there bool // the server is there already
}

var (
	_ service.Service    = Service{}
	_ service.Shared     = Service{}
	_ service.Bounded    = Service{}
	_ service.Lacking    = Service{}
	_ service.Peered     = Service{}
	_ service.PeerTeller = Service{}
	_ service.Greeting   = Service{}
	_ service.Keeper     = (*servers)(nil)
	_ service.Store      = sqlservice.KeepingClient[*link]{}
)

// nodes is what a story calls its server.
var nodes = service.Nodes{Name: Name, One: "server of MariaDB", Many: "MariaDB"}

var faults = append(sqlservice.Faults(nodes), &hold, &letGo)

// Words implements service.Service, as those below do.
func (Service) Words() scenario.Service {
	return scenario.Service{
		Name: Name, About: "The lock service.",
		World: worldSettings, Client: clientSettings,
		Nodes: nodes.Name + "1", Unqueued: true, Halfway: true,
		Compares: func(client scenario.Client) bool { return sqlservice.Compares(recipes, client) },
		Check:    check,
	}
}

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

// Faults are steps that no other service has.
func (Service) Faults() []*service.Fault { return faults }

// Found is "" where there is no mariadbd.
func (Service) Found() (where, bring string) { return mariadbproc.Program(), mariadbproc.Install }

// Where says what At takes.
func (Service) Where() string { return "the URL of one that is there already" }

// At takes a URL with a user, a password and TLS where there are any. The clients are told
// of it by the environment.
func (Service) At(where string) (service.Service, []string, error) {
	want := fmt.Errorf("want %s such as mariadb://USER:PASSWORD@HOST:PORT", Service{}.Where())
	u, err := url.Parse(where)
	switch {
	case err != nil:
		return nil, nil, fmt.Errorf("%w: %w", want, err)
	case u.Scheme != "mariadb" && u.Scheme != "mysql" || u.Hostname() == "":
		return nil, nil, want
	}
	port := u.Port()
	if port == "" {
		port = "3306"
	}
	return Service{there: true}, []string{net.JoinHostPort(u.Hostname(), port)}, os.Setenv(urlEnv, where)
}

// Greets implements service.Greeting.
func (Service) Greets() {}

// Lacks implements service.Lacking.
func (s Service) Lacks(v *scenario.Variant) string {
	switch {
	case !s.there || v.World.Service != Name:
		return ""
	case v.World.Settings.Time(settingIdle) > 0:
		return "a MariaDB that is there already has a wait_timeout of its own"
	case v.World.Settings.Flag(settingRollback):
		return "a MariaDB that is there already has an innodb_rollback_on_timeout of its own"
	}
	return ""
}

// Commands has the process of a server.
func (Service) Commands() []*cobra.Command { return []*cobra.Command{mariadbproc.Command()} }

// Told implements service.Service, as those below do.
func (Service) Told(client string, all map[string]scenario.Client) setting.Values {
	return all[client].Values
}

func (Service) Shows(client setting.Values) string { return service.RecipeOf(recipes, client).Shows }

// Slot is the owner, which clients choose anew for each tenure.
func (Service) Slot(tenure string) string { return tenure }

// Bounds implements service.Bounded.
func (Service) Bounds(world setting.Values, clients map[string]scenario.Client) (bounds map[string]time.Duration, handover time.Duration) {
	return sqlservice.Bounds(recipes, world.Time(settingIdle), clients)
}

// reachDeadline is for how long a MariaDB that is there already is asked.
const reachDeadline = 10 * time.Second

// Reach implements service.Service. It tries what a run needs rights for.
func (Service) Reach(ctx context.Context, endpoints []string) error {
	if len(endpoints) != 1 || !sqlservice.IsAddress(endpoints[0]) {
		return fmt.Errorf("mariadb at %q: want one HOST:PORT", endpoints)
	}
	ctx, cancel := context.WithTimeout(ctx, reachDeadline)
	defer cancel()
	place := placeAt(endpoints[0])
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
