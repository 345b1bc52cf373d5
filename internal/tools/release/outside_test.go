package main

import (
	"bytes"
	"encoding/json"
	"go/version"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"text/template"
	"time"

	modules "golang.org/x/mod/module"
	"golang.org/x/mod/zip"

	"github.com/fencelab/fencelab/internal/tools/need"
)

// clients and servers of all technologies: in the list of modules of a program are
// those that it uses, and no other.
var technologies = []string{
	"github.com/alicebob/miniredis/v2",
	"github.com/aws/aws-sdk-go-v2",
	"github.com/go-sql-driver/mysql",
	"github.com/go-zookeeper/zk",
	"github.com/jackc/pgx/v5",
	"github.com/nats-io/nats.go",
	"github.com/prometheus/client_golang",
	"github.com/redis/go-redis/v9",
	"go.etcd.io/bbolt",
	"go.etcd.io/etcd/client/v3",
	"go.etcd.io/etcd/server/v3",
	"go.etcd.io/raft/v3",
	"google.golang.org/grpc",
	"modernc.org/sqlite",
}

// TestOutside: programs outside the repository get its packages as they will when
// they are published. They build, they run, and bring no modules that they don't use.
func TestOutside(t *testing.T) {
	need.Time(t, "to build programs outside the repository")
	w := newWorld(t)
	const etcdClient = `client, err := clientv3.New(clientv3.Config{Endpoints: []string{"127.0.0.1:1"}})
	if err != nil {
		panic(err)
	}
	defer client.Close()
	`
	const redisClient = `client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"})
	defer client.Close()
	`
	for _, tt := range []struct {
		program string // a folder of testdata, or the driver of driver.go.tmpl
		imports []string
		modules []string // of the repository, and of technologies
		most    int      // modules in its list, itself counted; 0: any number
		prints  string
		driver  driver
	}{
		{"core", []string{"pkg/fence", "pkg/fence/fencehttp", "pkg/fence/fencetest", "pkg/lock", "pkg/lock/locktest", "pkg/observe"},
			[]string{own("pkg")}, 3, "200\n200\n412\ntrue\n", driver{}},
		{"etcdlock", []string{"pkg/lock/etcdlock"},
			[]string{own("pkg"), own("pkg/lock/etcdlock"), "github.com/prometheus/client_golang", "go.etcd.io/etcd/client/v3", "google.golang.org/grpc"}, 0, "true\n",
			driver{[]string{"time", "go.etcd.io/etcd/client/v3", own("pkg/lock")},
				etcdClient + `var backend lock.Backend
				backend, err = etcdlock.New(client, time.Second)`, `err == nil && backend != nil`}},
		{"fenceetcd", []string{"pkg/fence/fenceetcd"},
			[]string{own("pkg"), own("pkg/fence/fenceetcd"), "github.com/prometheus/client_golang", "go.etcd.io/etcd/client/v3", "google.golang.org/grpc"}, 0, "true\n",
			driver{[]string{"context", "errors", "go.etcd.io/etcd/client/v3", own("pkg/fence")},
				etcdClient + `_, err = fenceetcd.Do(context.Background(), client, fence.Claim{Scope: "/orders"})`, `errors.Is(err, fence.ErrNoToken)`}},
		{"fencegrpc", []string{"pkg/fence/fencegrpc"},
			[]string{own("pkg"), own("pkg/fence/fencegrpc"), "google.golang.org/grpc"}, 0, "rpc error: code = InvalidArgument desc = fence: missing token\n",
			driver{[]string{own("pkg/fence")}, `err := fencegrpc.Error(fence.ErrNoToken)`, `err`}},
		{"fenceredis", []string{"pkg/fence/fenceredis"},
			[]string{own("pkg"), own("pkg/fence/fenceredis"), "github.com/redis/go-redis/v9"}, 0, "true\n",
			driver{[]string{"context", "errors", "github.com/redis/go-redis/v9", own("pkg/fence")},
				redisClient + `_, err := fenceredis.Store{Client: client}.Do(context.Background(), fence.Claim{Scope: "/orders"})`, `errors.Is(err, fence.ErrNoToken)`}},
		{"fencesql", []string{"pkg/fence/fencesql"},
			[]string{own("pkg"), own("pkg/fence/fencesql")}, 3, "true\n",
			driver{[]string{"context", "errors", own("pkg/fence")},
				`store := &fencesql.Store{Dialect: fencesql.PostgreSQL}
				err := store.Do(context.Background(), fence.Claim{Scope: "/orders"}, nil)`, `errors.Is(err, fence.ErrNoToken)`}},
		{"redislock", []string{"pkg/lock/redislock"},
			[]string{own("pkg"), own("pkg/lock/redislock"), "github.com/redis/go-redis/v9"}, 0, "redislock: a TTL of 0s, want whole milliseconds, 1ms or more\n",
			driver{[]string{"github.com/redis/go-redis/v9"}, redisClient + `_, err := redislock.New(client, 0)`, `err`}},
		{"sqllock", []string{"pkg/lock/sqllock"},
			[]string{own("pkg"), own("pkg/lock/sqllock")}, 3, "sqllock: a TTL of 0s, want whole milliseconds, 1ms or more\n",
			driver{nil, `_, err := sqllock.New(nil, sqllock.PostgreSQL, 0)`, `err`}},
		{"eslock", []string{"pkg/lock/eslock"},
			[]string{own("pkg"), own("pkg/lock/eslock")}, 3, "eslock: a TTL of 0s, want whole milliseconds, 1ms or more\n",
			driver{nil, `_, err := eslock.New("http://127.0.0.1:9200", 0)`, `err`}},
		{"zklock", []string{"pkg/lock/zklock"},
			[]string{own("pkg"), own("pkg/lock/zklock"), "github.com/go-zookeeper/zk"}, 4, "zklock: a timeout of 0s, want whole milliseconds, 1ms or more\n",
			driver{nil, `_, err := zklock.New([]string{"127.0.0.1:1"}, 0)`, `err`}},
		{"natslock", []string{"pkg/lock/natslock"},
			[]string{own("pkg"), own("pkg/lock/natslock"), "github.com/nats-io/nats.go"}, 0, "natslock: the JetStream is nil\n",
			driver{[]string{"context"}, `_, err := natslock.New(context.Background(), nil, 0)`, `err`}},
		{"fencenats", []string{"pkg/fence/fencenats"},
			[]string{own("pkg"), own("pkg/fence/fencenats"), "github.com/nats-io/nats.go"}, 0, "fencenats: this Store was not made by New\n",
			driver{[]string{"context", own("pkg/fence")}, `err := new(fencenats.Store).Do(context.Background(), fence.Claim{}, nil)`, `err`}},
		{"fences3", []string{"pkg/fence/fences3"},
			[]string{"github.com/aws/aws-sdk-go-v2", own("pkg"), own("pkg/fence/fences3")}, 0, "fences3: this Store was not made by New\n",
			driver{[]string{"context", own("pkg/fence")}, `err := new(fences3.Store).Do(context.Background(), fence.Claim{}, nil)`, `err`}},
		{"fencedynamodb", []string{"pkg/fence/fencedynamodb"},
			[]string{"github.com/aws/aws-sdk-go-v2", own("pkg"), own("pkg/fence/fencedynamodb")}, 0, "fencedynamodb: this Store was not made by New\n",
			driver{[]string{"context", own("pkg/fence")}, `err := new(fencedynamodb.Store).Do(context.Background(), fence.Claim{}, nil)`, `err`}},
		{"fencees", []string{"pkg/fence/fencees"},
			[]string{own("pkg"), own("pkg/fence/fencees")}, 3, "fencees: the address is none: want a URL like http://HOST:9200\n",
			driver{nil, `_, err := fencees.New("127.0.0.1:9200", "orders")`, `err`}},
		{"k8slock", []string{"pkg/lock/k8slock"},
			[]string{own("pkg"), own("pkg/lock/k8slock")}, 3, "k8slock: a TTL of 0s, want whole seconds, 1s or more\n",
			driver{nil, `_, err := k8slock.New("https://127.0.0.1:6443", "default", 0)`, `err`}},
		{"fencek8s", []string{"pkg/fence/fencek8s"},
			[]string{own("pkg"), own("pkg/fence/fencek8s")}, 3, "fencek8s: the address is none: want a URL like https://HOST:6443, and what proves who asks in the client\n",
			driver{nil, `_, err := fencek8s.New("127.0.0.1:6443", "/api/v1/namespaces/default/configmaps")`, `err`}},
		{"observeprom", []string{"pkg/observe/observeprom"},
			[]string{own("pkg"), own("pkg/observe/observeprom"), "github.com/prometheus/client_golang"}, 0, "true\n",
			driver{[]string{own("pkg/lock")}, `var observer lock.Observer = observeprom.New()`, `observer != nil`}},
		{"observeotel", []string{"pkg/observe/observeotel"},
			[]string{own("pkg"), own("pkg/observe/observeotel")}, 0, "true\n",
			driver{[]string{"go.opentelemetry.io/otel", own("pkg/lock")},
				`var observer lock.Observer
				observer, err := observeotel.New(otel.Meter("orders"), otel.Tracer("orders"))`, `err == nil && observer != nil`}},
		{"fencebolt", []string{"pkg/fence/fencebolt"},
			[]string{own("pkg"), own("pkg/fence/fencebolt"), "go.etcd.io/bbolt"}, 0, "false\ntrue\n", driver{}},
	} {
		t.Run(tt.program, func(t *testing.T) {
			fetch(t, "GOWORK=off", tt.imports...)
			dir := t.TempDir()
			write(t, filepath.Join(dir, "go.mod"), []byte("module example.com/outside\n\ngo 1.25.0\n"))
			write(t, filepath.Join(dir, "main.go"), tt.driver.source(t, tt.program))
			get := []string{"get"}
			for _, name := range tt.imports {
				get = append(get, own(name)+"@"+w.version)
			}
			w.goes(t, dir, get...)

			var list []string
			var ours, needs = "go1.25.0", "go1.25.0"
			for line := range strings.Lines(w.goes(t, dir, "list", "-m", "-f", "{{.Path}} go{{.GoVersion}}", "all")) {
				path, asks, _ := strings.Cut(strings.TrimSpace(line), " ")
				list = append(list, path)
				newest := &needs
				switch {
				case path == "example.com/outside":
					continue
				case strings.HasPrefix(path, own("")):
					newest = &ours
				}
				if version.Compare(asks, *newest) > 0 {
					*newest = asks
				}
			}
			if version.Compare(ours, needs) > 0 {
				t.Errorf("it asks for %s, and needs %s", ours, needs)
			}
			t.Logf("%d modules", len(list))
			if tt.most > 0 && len(list) > tt.most {
				t.Errorf("%d modules, want %d at most: %q", len(list), tt.most, list)
			}
			if got := known(list); !slices.Equal(got, tt.modules) {
				t.Errorf("of the modules that the test knows there are %q, want %q", got, tt.modules)
			}

			w.goes(t, dir, "build", "-o", "program", ".")
			out, err := exec.Command(filepath.Join(dir, "program")).CombinedOutput()
			if err != nil || string(out) != tt.prints {
				t.Errorf("it prints\n%s%v, want\n%s", out, err, tt.prints)
			}
		})
	}
}

// driver is a program of driver.go.tmpl, which uses a driver without a server.
type driver struct {
	Imports    []string // beside the driver
	Use, Print string
}

// source is the program, or that of testdata where there is nothing to fill in.
func (d driver) source(t *testing.T, program string) []byte {
	t.Helper()
	if d.Use == "" {
		return read(t, "testdata", program, "main.go")
	}
	folder := "pkg/lock/"
	switch {
	case strings.HasPrefix(program, "fence"):
		folder = "pkg/fence/"
	case strings.HasPrefix(program, "observe"):
		folder = "pkg/observe/"
	}
	d.Imports = append(slices.Clone(d.Imports), own(folder+program))
	var b bytes.Buffer
	if err := template.Must(template.ParseFiles(filepath.Join("testdata", "driver.go.tmpl"))).Execute(&b, d); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestInstall: gcsim can be installed without a clone. Go finds all that takes, but
// compiles it, all libraries once more, only with FENCELAB_LONG=1.
func TestInstall(t *testing.T) {
	need.Time(t, "to lay the repository out as a module that is published")
	fetch(t, "GOWORK=", "cmd/gcsim")
	w := newWorld(t)
	dir := t.TempDir()
	w.env = append(w.env, "GOBIN="+dir)
	install := []string{"install", own("cmd/gcsim") + "@" + w.version}
	if !need.Long() {
		w.goes(t, dir, slices.Insert(install, 1, "-n")...)
		return
	}
	w.goes(t, dir, install...)
	out, err := exec.Command(filepath.Join(dir, "gcsim"), "list").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "gc-pause") {
		t.Errorf("gcsim list prints\n%s%v", out, err)
	}
}

func own(folder string) string { return "github.com/fencelab/fencelab/" + folder }

// known are the modules of the repository, and those of technologies.
func known(list []string) (some []string) {
	for _, m := range list {
		if strings.HasPrefix(m+"/", own("")) || slices.Contains(technologies, m) {
			some = append(some, m)
		}
	}
	return some
}

// fetch brings what the packages need from elsewhere into the module cache, where it
// is not there already.
func fetch(t *testing.T, gowork string, folders ...string) {
	t.Helper()
	for _, folder := range folders {
		// The packages, and what is in the list of modules without being used.
		for _, args := range [][]string{{"list", "-deps", "."}, {"list", "-m", "all"}} {
			cmd := exec.Command("go", args...)
			cmd.Dir = filepath.Join(root, folder)
			cmd.Env = append(os.Environ(), gowork)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Logf("%v in %s: %v\n%s", cmd.Args, folder, err, out)
				need.Missing(t, "modules of "+folder, "to build a program with them", gowork+" go -C "+folder+" "+strings.Join(args, " "))
			}
		}
	}
}

// world is one in which the modules of the repository are published, as they are in
// its files.
type world struct {
	version string
	env     []string // of the commands that live in it
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{version: currentVersion(t)}
	proxy := t.TempDir()
	all, err := readModules(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range all {
		publish(t, proxy, m, w.version)
	}
	fetched, err := exec.Command("go", "env", "GOMODCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	w.env = append(os.Environ(),
		"GOPROXY=file://"+proxy+",file://"+filepath.Join(strings.TrimSpace(string(fetched)), "cache", "download"),
		"GOPRIVATE=", "GONOPROXY=", "GOSUMDB=off", "GOWORK=off", "GOTOOLCHAIN=local",
		// What is published here must not get into the user's module cache. Its place
		// is another each time, so that -trimpath is needed for the build cache to help.
		"GOMODCACHE="+t.TempDir(), "GOFLAGS=-mod=mod -modcacherw -trimpath")
	return w
}

// publish adds a module to a directory that is a module proxy.
func publish(t *testing.T, proxy string, m module, version string) {
	t.Helper()
	dir := filepath.Join(proxy, m.path, "@v")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	info, err := json.Marshal(map[string]any{"Version": version, "Time": time.Now().UTC()})
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "list"), []byte(version+"\n"))
	write(t, filepath.Join(dir, version+".info"), info)
	write(t, filepath.Join(dir, version+".mod"), read(t, root, m.folder, "go.mod"))
	archive, err := os.Create(filepath.Join(dir, version+".zip"))
	if err != nil {
		t.Fatal(err)
	}
	defer archive.Close()
	err = zip.CreateFromDir(archive, modules.Version{Path: m.path, Version: version}, filepath.Join(root, m.folder))
	if err != nil {
		t.Fatal(err)
	}
}

// goes runs a go command in the world, and returns what it prints.
func (w *world) goes(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("go", args...)
	cmd.Dir, cmd.Env = dir, w.env
	var says strings.Builder
	cmd.Stderr = &says
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %v\n%s", cmd.Args, err, &says)
	}
	return string(out)
}

func write(t *testing.T, name string, text []byte) {
	t.Helper()
	if err := os.WriteFile(name, text, 0o644); err != nil {
		t.Fatal(err)
	}
}
