package clientcmd_test

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/fencelab/fencelab/internal/clients/clientcmd"
	"github.com/fencelab/fencelab/internal/clients/clientcmd/clienttest"
	"github.com/fencelab/fencelab/internal/clients/peer"
	"github.com/fencelab/fencelab/internal/platform/cli"
	"github.com/fencelab/fencelab/internal/platform/proc/proctest"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/service/all"
	"github.com/fencelab/fencelab/internal/service/etcd/etcdserver"
)

// The test binary is the client, too.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "client" {
		os.Args = append(os.Args[:1], os.Args[2:]...)
		cli.Main(clientcmd.Command(all.List))
	}
	if len(os.Args) > 1 && os.Args[1] == "dying" {
		os.Args = append(os.Args[:1], os.Args[2:]...)
		cli.Main(clientcmd.Command([]*service.Service{dying()}))
	}
	// Children inherit that a hangup is ignored, as it is under nohup, and some are
	// to die of one.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
	os.Exit(m.Run())
}

// dying is a service whose client has a process of its own, which ends at once.
func dying() *service.Service {
	s := *service.Named(all.List, "redis")
	s.Dial = func(o service.Options) (service.Client, error) {
		return peer.Start(peer.Program{Language: "Latin", Command: []string{"false"}}, o, nil)
	}
	return &s
}

// TestOwnProcessEnds: who asks the storage through a process that has ended tries no more.
func TestOwnProcessEnds(t *testing.T) {
	t.Parallel()
	code, _, stderr := statusOf(t, "dying", "agent", "--endpoints", proctest.Nobody(t), "--storage", "http://"+proctest.Nobody(t), "--connect-timeout", "1h")
	if code != 1 || !strings.Contains(stderr, "its process in Latin has ended") || strings.Contains(stderr, "failed to reach") {
		t.Errorf("status %d: %s, want 1, and that its process has ended", code, stderr)
	}
}

// status runs a client process to its end.
func status(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	return statusOf(t, "client", args...)
}

// statusOf runs the test binary to its end, in a role.
func statusOf(t *testing.T, role string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	cmd := clienttest.Process(t, role, args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	_ = cmd.Run()
	return cmd.ProcessState.ExitCode(), out.String(), errs.String()
}

func TestUnreachable(t *testing.T) {
	t.Parallel()
	w := clienttest.New(t)
	dead := proctest.Nobody(t)
	silent, err := net.Listen("tcp", "127.0.0.1:0") // takes connections and says nothing
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	var ended sync.WaitGroup // all at once: each takes 5 s
	for _, c := range []struct {
		name, etcd, storage string
		want                []string
	}{
		{"etcd dead", dead, w.Storage.URL, []string{"etcd at " + dead, "connection refused", "go run ./cmd/gcsim etcd", "--endpoints"}},
		{"etcd silent", silent.Addr().String(), w.Storage.URL, []string{"etcd at " + silent.Addr().String(), "--endpoints"}},
		{"storage dead", w.Server.Endpoint(), "http://" + dead, []string{"storage at http://" + dead, "connection refused", "go run ./cmd/storage", "--storage"}},
		{"storage silent", w.Server.Endpoint(), "http://" + silent.Addr().String(), []string{"storage at http://" + silent.Addr().String()}},
		{"no storage", w.Server.Endpoint(), w.Storage.URL + "/elsewhere", []string{"404"}},
		{"both dead", dead, "http://" + dead, []string{"etcd at " + dead, "storage at http://" + dead}},
	} {
		for _, command := range []string{"1", "agent"} {
			if command == "1" && !strings.HasPrefix(c.name, "etcd") {
				continue // as contrib/lock's it asks the storage later
			}
			ended.Go(func() {
				began := time.Now()
				code, stdout, stderr := status(t, command, "--endpoints", c.etcd, "--storage", c.storage)
				if took := time.Since(began); took > clienttest.Patience {
					t.Errorf("%s, %s: it took %v, want 5s and what a busy machine takes", command, c.name, took)
				}
				if code != 1 || stdout != "" {
					t.Errorf("%s, %s: status %d, standard output %q, want 1 and nothing", command, c.name, code, stdout)
				}
				for _, want := range c.want {
					if !strings.Contains(stderr, want) {
						t.Errorf("%s, %s: it says\n%s\nwant %q in it", command, c.name, stderr, want)
					}
				}
				if strings.Contains(stderr, `"level"`) {
					t.Errorf("%s, %s: etcd's logger speaks:\n%s", command, c.name, stderr)
				}
			})
		}
	}
	ended.Wait()
}

// TestWaitsForEtcd starts the server after the client.
func TestWaitsForEtcd(t *testing.T) {
	t.Parallel()
	w := clienttest.New(t)
	dir, addr := t.TempDir(), proctest.Nobody(t)
	cmd := clienttest.Process(t, "client", "2", "--endpoints", addr, "--storage", w.Storage.URL, "--connect-timeout", "20s")
	var errs bytes.Buffer
	r, pipe, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	cmd.Stderr = pipe
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	pipe.Close()
	first := make([]byte, 1)
	if _, err := r.Read(first); err != nil { // it starts
		t.Fatal(err)
	}
	s, err := etcdserver.Start(etcdserver.Config{Dir: dir, ClientAddr: addr})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	_, _ = errs.ReadFrom(r)
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v:\n%s", err, errs.String())
	}
}

func TestUsage(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"3"}, 1, "mode should be 1 or 2 (given value is 3)"},
		{nil, 1, " <1 or 2>\nclient: want 1, 2, or one of the commands agent, exec and who; see 'client --help'"},
		{[]string{"x"}, 1, "mode should be 1 or 2 (given value is x)"},
		{[]string{"agnet"}, 1, "(given value is agnet)\nclient: unknown command \"agnet\" (did you mean agent?); see 'client --help'"},
		{[]string{"1", "2"}, 1, " <1 or 2>\n"},
		{[]string{"1", "--service", "chubby"}, 2, `--service is "chubby", want etcd`},
		{[]string{"1", "--ttl", "1500ms"}, 2, `--ttl is "1500ms", want a duration in whole seconds`},
		{[]string{"agent", "--ttl", "0s"}, 2, "whole seconds"},
		{[]string{"agent", "--token", "random"}, 2, "want revision, header, lease, max"},
		{[]string{"agent", "--look", "away"}, 2, "want begin, nothing, session, is-owner, first"},
		{[]string{"agent", "--session", "client1"}, 2, `--session is "client1", want own or kept`},
		{[]string{"agent", "--timeout", "0s"}, 2, `--timeout is "0s", want a duration`},
		{[]string{"agent", "--delay", "-1s"}, 2, `--delay is "-1s", want a duration`},
		{[]string{"agent", "--send-storage", "127.0.0.1:8080"}, 2, "--send-storage"},
		{[]string{"agent", "--storage", "127.0.0.1:8080"}, 2, "want a URL like http://"},
		{[]string{"agent", "--in-service"}, 2, "--in-service: no data can lie in etcd"},
		{[]string{"agent", "lock"}, 2, "\"lock\" is one argument too many"},
		{[]string{"exec", "--lokc", "/lock"}, 2, "did you mean --lock?"},
		{[]string{"who"}, 2, "an argument is missing"},
		{[]string{"exec", "--", "true"}, 2, "--lock NAME"},
		{[]string{"exec", "--lock", "/lock"}, 2, "which command"},
	} {
		t.Run(fmt.Sprint(c.args), func(t *testing.T) {
			t.Parallel()
			code, _, stderr := status(t, c.args...)
			if code != c.code || !strings.Contains(stderr, c.want) {
				t.Errorf("status %d and\n%s\nwant %d and %q", code, stderr, c.code, c.want)
			}
		})
	}
}
