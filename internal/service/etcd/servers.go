package etcd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/fencelab/fencelab/internal/platform/sleep"
	"github.com/fencelab/fencelab/internal/scenario/setting"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/service/etcd/etcdproc"
	"github.com/fencelab/fencelab/internal/service/etcd/etcdserver"
	"github.com/fencelab/fencelab/pkg/fence"
)

var nodes = &service.Electing[*etcdproc.Member]{
	Nodes:   service.Nodes{Name: Name, Setting: service.SettingMembers.Name, One: "member of etcd", Many: "members of etcd"},
	Service: "etcd", Leases: "leases",
}

type servers struct {
	service.Quorum[*etcdproc.Member]
	cluster   *etcdproc.Cluster // nil: they were there already
	endpoints []string
	observer  *watch
}

// start starts members, with links between them if the story isolates one.
func start(ctx context.Context, stage service.Stage) (service.Servers, error) {
	begin := etcdproc.Start
	if isolates(stage.Plan().Steps) {
		begin = etcdproc.StartLinked
	}
	cluster, err := begin(ctx, stage.Group(), stage.Plan().World.Number(nodes.Setting), etcdserver.Config{})
	if err != nil {
		return nil, err
	}
	s := serversOf(stage, cluster)
	s.Guard()
	return s, nil
}

func serversOf(stage service.Stage, cluster *etcdproc.Cluster) *servers {
	s := &servers{cluster: cluster, endpoints: cluster.Endpoints()}
	s.Quorum = service.Quorum[*etcdproc.Member]{
		Of: nodes, Stage: stage, Members: cluster.Members, Elect: cluster.Leader, Isolated: cluster.Isolated,
		Settle: func(ctx context.Context, story service.Story, _ bool) error { return s.observeServing(ctx, story) },
	}
	return s
}

func join(stage service.Stage, endpoints []string) service.Servers {
	return &servers{Quorum: service.Quorum[*etcdproc.Member]{Stage: stage}, endpoints: endpoints}
}

func (s *servers) Endpoints(ctx context.Context, client setting.Values) ([]string, error) {
	which := client.Text(service.SettingMember)
	if which == service.MemberAny {
		var all []string
		for _, e := range s.endpoints {
			all = append(all, strings.TrimPrefix(e, "http://"))
		}
		return all, nil
	}
	m, err := s.member(ctx, which)
	if err != nil {
		return nil, err
	}
	return []string{m.Endpoint()}, nil
}

// member is the one that a client's setting names.
func (s *servers) member(ctx context.Context, which string) (*etcdproc.Member, error) {
	if which == service.MemberLeader || which == service.MemberFollower {
		return s.Role(ctx, which)
	}
	members := s.cluster.ByLeaseID()
	if which == memberHighest {
		return members[len(members)-1], nil
	}
	return members[0], nil
}

// position is etcd's revision.
func (s *servers) position(ctx context.Context) (fence.Token, error) {
	now, err := service.Meanwhile(ctx, s.Stage, "etcd's revision", func(ctx context.Context) (*clientv3.GetResponse, error) {
		return s.observer.client.Get(ctx, "fencelab")
	})
	if err != nil {
		return 0, err
	}
	return fence.Token(now.Header.Revision), nil
}

// What Leave cannot end runs out.
func (s *servers) Leave(ctx context.Context) {
	if s.observer == nil {
		return
	}
	left, err := s.observer.client.Get(ctx, s.Stage.Plan().Prefix, clientv3.WithPrefix())
	if err != nil {
		return
	}
	for _, kv := range left.Kvs {
		_, _ = s.observer.client.Revoke(ctx, clientv3.LeaseID(kv.Lease))
	}
}

// observeServing has the account go on through a member that serves, where the one that
// it goes through does not. Where most do not serve nobody is granted a lock, and the
// account goes on when they do.
func (s *servers) observeServing(ctx context.Context, story service.Story) error {
	serving, most := s.Serving()
	through := s.observer.client.Endpoints()
	if !most || slices.ContainsFunc(serving, func(m *etcdproc.Member) bool { return slices.Contains(through, m.Endpoint()) }) {
		return nil
	}
	if err := s.stopObserving(ctx, story); err != nil {
		return err
	}
	return s.observe(ctx, []string{serving[0].Endpoint()}, nil)
}

// reach asks members that are there already. Where no etcd answers it is better said once than
// by each run, after a deadline of its own.
func reach(ctx context.Context, endpoints []string) error {
	for _, e := range endpoints {
		if !service.IsAddress(strings.TrimPrefix(e, "http://")) {
			return fmt.Errorf("etcd at %q: want HOST:PORT", e)
		}
	}
	at := "etcd at " + strings.Join(endpoints, ", ")
	client, err := clientv3.New(clientv3.Config{Endpoints: endpoints, Logger: zap.NewNop()})
	if err != nil {
		return fmt.Errorf("%s: %w", at, err)
	}
	defer client.Close()
	ctx, cancel := context.WithTimeoutCause(ctx, service.ReachDeadline, noAnswer(endpoints, service.ReachDeadline))
	defer cancel()
	if _, err := client.Get(ctx, "fencelab"); errors.Is(err, rpctypes.ErrUserEmpty) {
		return fmt.Errorf("%s wants a user and a password, and runs have none: use one without authentication", at)
	} else if err != nil {
		return cmp.Or(context.Cause(ctx), fmt.Errorf("%s: %w", at, err))
	}
	return nil
}

// noAnswer is why an etcd is given up.
func noAnswer(endpoints []string, after time.Duration) error {
	return fmt.Errorf("etcd at %s does not answer after %v: is it there, and does it speak without TLS?", strings.Join(endpoints, ", "), after)
}

// members are the connections to the members of etcd that a client knows. A member that stands still
// keeps its connections, and what was asked by one of them waits without an error. So while something
// waits each member is asked whether it is there, and the connections to one that says nothing are
// broken, where another answers: etcd's client then goes on with that one. Where nothing waits nobody
// asks: the renewals of a lease may be stuck all the same.
type members struct {
	mu    sync.Mutex
	conns map[string][]net.Conn // by address
}

const (
	memberPeriod  = 250 * time.Millisecond // between two questions
	memberTimeout = time.Second            // after which one says nothing
)

func (m *members) dial(ctx context.Context, addr string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.conns[addr] = append(m.conns[addr], conn)
	return conn, nil
}

// insist does something that waits for etcd, and does it again where it failed
// because a connection to a member was broken that said nothing.
func insist[T any](m *members, do func() (T, error)) (T, error) {
	for {
		done := m.attend()
		t, err := do()
		if broke := done(); !broke || status.Code(err) != codes.Unavailable {
			return t, err
		}
	}
}

// attend asks the members until done is called, which says whether it broke any connections.
func (m *members) attend() (done func() (broke bool)) {
	var broke atomic.Bool
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		for sleep.For(ctx, memberPeriod) {
			for _, conn := range m.silent(ctx) {
				broke.Store(true) // before anybody notices
				conn.Close()
			}
		}
	}()
	return func() bool { cancel(); return broke.Load() }
}

// silent are the connections to members that say nothing, where another answers. It
// forgets them: they are to be broken.
func (m *members) silent(ctx context.Context) (conns []net.Conn) {
	m.mu.Lock()
	addrs := slices.Collect(maps.Keys(m.conns))
	m.mu.Unlock()
	if len(addrs) < 2 {
		return nil
	}
	say := make([]bool, len(addrs))
	var asked sync.WaitGroup
	for i, addr := range addrs {
		asked.Go(func() { say[i] = answers(ctx, addr) })
	}
	asked.Wait()
	if ctx.Err() != nil || !slices.Contains(say, true) {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for i, addr := range addrs {
		if !say[i] {
			conns = append(conns, m.conns[addr]...)
			delete(m.conns, addr)
		}
	}
	return conns
}

// answers reports whether the member at an address answers, whatever it says.
func answers(ctx context.Context, addr string) bool {
	ctx, cancel := context.WithTimeout(ctx, memberTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+addr+"/version", nil)
	if err != nil {
		return true
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, resp.Body) // so that the connection can be closed in peace
	return true
}
