package sqlservice

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/platform/proc"
	"github.com/fencelab/fencelab/internal/platform/sleep"
	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/scenario/setting"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/pkg/lock/sqllock"
)

// Server is one that a run has for itself.
type Server interface {
	service.Controlled
	Endpoint() string
	Restart(ctx context.Context) error
}

// Observer reads what a database tells of locks.
type Observer interface {
	// Make makes the run's database, and its tables.
	Make(ctx context.Context) error
	// Open begins to read, or goes on after the server was away. Where it fails, Shut comes
	// after it, too.
	Open(ctx context.Context) error
	Shut()
	// Round has the account take in what is new.
	Round(ctx context.Context) error
}

// Servers are those of a run: one server, and a standby if the run wants one; where the database is a file there is none.
// Observe begins the account and its watch.
type Servers struct {
	Stage    service.Stage
	Server   Server   // nil: it was there already, or there is none
	Database Database // as gcsim itself reaches it
	Observer Observer
	Account  *Account
	Tables   // that the observer reads, if it does
	// Address is the one of Endpoints.
	Address string
	// Found is the statement that finds what a key holds. Leaves are those after which nothing of the run is left, in
	// servers that go on without it.
	Found  string
	Leaves []string

	standby *standby      // nil: there is none
	ended   chan struct{} // closed when the account has all that the database told
	told    chan struct{} // and when it has all that Server told
	stop    context.CancelFunc
}

// Observe implements service.Servers. It makes the run's database and its tables, too.
func (s *Servers) Observe(ctx context.Context) error {
	name := s.Database.Name()
	starting, cancel := context.WithTimeoutCause(ctx, service.ObserveDeadline, fmt.Errorf("%s does not answer after %v", name, service.ObserveDeadline))
	defer cancel()
	if err := s.Observer.Make(starting); err != nil {
		return fmt.Errorf("make the run's database: %w", err)
	}
	if s.standby != nil { // else it may lead before it has the tables
		if err := s.awaitStandby(starting); err != nil {
			return fmt.Errorf("%s does not follow: %w", s.standby.server.Process().Name, err)
		}
	}
	return s.watch(ctx, starting)
}

// watch reads what the database tells, every PollEvery, until ctx is done or Leave. The end of a
// lock that a connection has is told so much later at most, but before the next grant of it. The
// end of the watch by an error fails the run, unless the server's process was meant to end.
func (s *Servers) watch(ctx, starting context.Context) error {
	if err := s.Observer.Open(starting); err != nil {
		s.Observer.Shut()
		return fmt.Errorf("observer: %w", errors.Join(err, context.Cause(starting)))
	}
	watching, stop := context.WithCancel(ctx)
	ended := make(chan struct{})
	s.stop, s.ended = stop, ended
	var p *proc.Process
	leading := s.leading()
	if leading != nil {
		p = leading.Process()
	}
	if leading == s.Server {
		s.told = ended
	}
	s.Stage.Go(func() {
		defer close(ended)
		defer s.Observer.Shut()
		for watching.Err() == nil {
			if err := s.Observer.Round(ctx); err != nil && ctx.Err() == nil {
				s.Account.crashed() // else the run ends here
				s.Stage.Fail(p, fmt.Errorf("the observer of %s: %w", s.Database.Name(), err))
				return
			}
			sleep.For(watching, PollEvery)
		}
	})
	return nil
}

func (s *Servers) Endpoints(context.Context, setting.Values) ([]string, error) {
	return []string{s.Address}, nil
}

// Leave drops the run's database. What still uses it is gone soon.
func (s *Servers) Leave(ctx context.Context) {
	if s.stop != nil {
		s.stop()
		<-s.ended
	}
	for len(s.Leaves) > 0 && ctx.Err() == nil {
		if s.Administer(ctx, s.Leaves...) == nil {
			return
		}
		time.Sleep(PollEvery)
	}
}

// Administer runs statements where no lock is, by a connection of their own.
func (s *Servers) Administer(ctx context.Context, statements ...string) error {
	conn, err := s.Database.Beside(ctx)
	if err != nil {
		return err
	}
	defer conn.HangUp()
	for _, statement := range statements {
		if _, err := conn.Run(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}

// where is a lock in the run's database.
func (s *Servers) where() string { return s.Stage.Plan().Prefix + "/" }

func (s *Servers) Connect(ctx context.Context) (Conn, error) {
	return s.Database.Connect(ctx, s.where())
}

// MakeTables makes the tables of all recipes in the run's database, and the rows of each lock ($1)
// that are there before anybody takes it.
func (s *Servers) MakeTables(ctx context.Context, dialect sqllock.Dialect, schema string, rows ...string) error {
	if err := MakeTables(ctx, s.Database, s.where(), dialect, schema); err != nil {
		return err
	}
	conn, err := s.Connect(ctx)
	if err != nil {
		return err
	}
	defer conn.HangUp()
	for _, lock := range s.Stage.Plan().Locks {
		for _, row := range rows {
			if _, err := conn.Run(ctx, row, lock); err != nil {
				return err
			}
		}
	}
	return nil
}

// MakeTables makes the tables of all recipes where a lock is.
func MakeTables(ctx context.Context, d Database, lock string, dialect sqllock.Dialect, schema string) error {
	pool, err := d.Pool(lock)
	if err != nil {
		return err
	}
	db := sql.OpenDB(pool)
	defer db.Close()
	if err := sqllock.Create(ctx, db, dialect); err != nil {
		return err
	}
	conn, err := d.Connect(ctx, lock)
	if err != nil {
		return err
	}
	defer conn.HangUp()
	_, err = conn.Run(ctx, schema)
	return err
}

func (s *Servers) Final(ctx context.Context, key string) (value string, has bool, err error) {
	conn, err := s.Connect(ctx)
	if err != nil {
		return "", false, err
	}
	defer conn.HangUp()
	found, err := ValueOf(conn.Row(ctx, s.Found, key))
	if found == nil {
		return "", false, err
	}
	return *found, true, err
}

func Faults(nodes service.Nodes) []*service.Fault {
	return nodes.Faults(func(of service.Servers, node string) service.Subject {
		s := of.(Running).common()
		return service.Subject{Controlled: s.Server, Called: node, Told: s.told}
	}, restart, service.NodeRule{Fact: standbyPromoted, Is: true, Words: "%s cannot follow the server that leads now without a new copy of it"})
}

// common is what the servers of a run have that embed Servers.
func (s *Servers) common() *Servers { return s }

func restart(ctx context.Context, of service.Servers, story service.Story, step scenario.Step) error {
	s := of.(Running).common()
	if err := story.Meanwhile(ctx, step.Node+" to serve", s.Server.Restart); err != nil {
		return err
	}
	service.Guard(story, s.Server.Process())
	story.Remark(story.Now(), step.Node+" is started again", history.Node{Name: step.Node, State: history.NodeRunning})
	return story.Meanwhile(ctx, "the account of "+step.Node, func(starting context.Context) error { return s.watch(ctx, starting) })
}
