// Package mariadb is the lock service MariaDB: a real server, the locks that people build on
// it, and an account of tenures by what its own triggers and procedures tell.
package mariadb

import (
	"fmt"
	"net"
	"net/url"
	"os"

	"github.com/spf13/cobra"

	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/service/mariadb/mariadbproc"
	"github.com/fencelab/fencelab/internal/service/sqlservice"
)

// Name is what scenarios call the service.
const Name = "mariadb"

// Service is MariaDB. The zero value starts its own servers.
type Service struct {
	sqlservice.Served[about]
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
)

type about struct{}

// About implements sqlservice.Described.
func (about) About() *sqlservice.About {
	return &sqlservice.About{
		Words: scenario.Service{Name: Name, World: worldSettings, Client: clientSettings, Nodes: Name + "1"},
		Rules: rules, Recipes: recipes, Usual: []string{"127.0.0.1:3306"}, Open: open, Start: start, Rights: rights,
	}
}

var faults = append(sqlservice.Faults(service.Nodes{Name: Name, One: "server of MariaDB", Many: "MariaDB"}), &hold, &letGo)

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
	case v.World.Settings.Time(sqlservice.SettingIdle) > 0:
		return "a MariaDB that is there already has a wait_timeout of its own"
	case v.World.Settings.Flag(settingRollback):
		return "a MariaDB that is there already has an innodb_rollback_on_timeout of its own"
	}
	return ""
}

// Commands has the process of a server.
func (Service) Commands() []*cobra.Command { return []*cobra.Command{mariadbproc.Command()} }
