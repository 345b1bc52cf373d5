package fencelab_test

import (
	"cmp"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/fencelab/fencelab/"

// deps are, by package, all packages that it needs, without the standard library.
func deps(t *testing.T) map[string][]string {
	t.Helper()
	out, err := exec.Command("go", "list", "-deps", "-f", `{{if not .Standard}}{{.ImportPath}} {{join .Deps " "}}{{end}}`, "work").Output()
	if err != nil {
		t.Fatalf("go list -deps work: %v", err)
	}
	all := make(map[string][]string)
	for line := range strings.Lines(string(out)) {
		list := strings.Fields(line)
		all[list[0]] = list[1:]
	}
	for pkg, list := range all {
		all[pkg] = slices.DeleteFunc(list, func(dep string) bool { _, ours := all[dep]; return !ours })
	}
	return all
}

// TestImportsGoOneWay: cmd → internal → pkg/lock → pkg/fence → std, and the
// stages of gcsim know only what passes between them.
func TestImportsGoOneWay(t *testing.T) {
	own := func(name string) string { return module + name }
	all := deps(t)
	of := func(pkg string) []string {
		list, known := all[own(strings.TrimPrefix(pkg, "./"))]
		if !known {
			t.Errorf("there is no package %s", pkg)
		}
		return list
	}
	for pkg, allowed := range map[string][]string{
		"./pkg/fence":                 {},
		"./pkg/fence/fencehttp":       {own("pkg/fence")},
		"./pkg/fence/fencetest":       {own("pkg/fence")},
		"./pkg/lock":                  {own("pkg/fence")},
		"./pkg/lock/locktest":         {own("pkg/fence"), own("pkg/lock")},
		"./pkg/lock/internal/attempt": {own("pkg/fence"), own("pkg/lock")},
		"./pkg/fence/fencees":         {own("pkg/fence"), own("pkg/internal/esdoc"), own("pkg/internal/swap")},
		"./pkg/fence/fencek8s":        {own("pkg/fence"), own("pkg/internal/kube"), own("pkg/internal/swap")},
		"./pkg/fence/fencesql":        {own("pkg/fence")}, // its users choose the driver
		"./pkg/internal/esdoc":        {own("pkg/fence")},
		"./pkg/internal/scopekey":     {own("pkg/fence")},
		"./pkg/internal/kube":         {own("pkg/fence")},
		"./pkg/internal/swap":         {own("pkg/fence")},
		"./pkg/internal/chance":       {},
		"./pkg/observe":               {own("pkg/fence"), own("pkg/fence/fencehttp"), own("pkg/lock")},
		"./pkg/lock/eslock":           {own("pkg/fence"), own("pkg/internal/esdoc"), own("pkg/lock"), own("pkg/lock/internal/attempt")},
		"./pkg/lock/k8slock":          {own("pkg/fence"), own("pkg/internal/kube"), own("pkg/lock"), own("pkg/lock/internal/attempt")},
		"./pkg/lock/sqllock":          {own("pkg/fence"), own("pkg/lock"), own("pkg/lock/internal/attempt")},
		"./internal/history":          {own("pkg/fence")},
		"./internal/explore/model":    {},
		"./internal/explore":          {own("internal/explore/model")},
		"./internal/judge/verdict":    {own("pkg/fence"), own("internal/history")},
	} {
		for _, dep := range of(pkg) {
			if !slices.Contains(allowed, dep) {
				t.Errorf("%s needs %s", pkg, dep)
			}
		}
	}
	// What a lock service and a storage without a story need: nothing of the lab, or of a service.
	stage := []string{
		own("pkg/fence"), own("pkg/fence/fencehttp"), own("pkg/fence/fencebolt"), own("pkg/fence/fenceetcd"), own("pkg/lock"), own("internal/history"),
		own("internal/platform/kernel"), own("internal/platform/nearest"), own("internal/storage/kv"), own("internal/platform/proc"), own("internal/scenario"), own("internal/service"), own("internal/scenario/setting"), own("internal/platform/strictyaml"), own("internal/platform/webpage"),
		own("internal/explore/model"),
	}
	// These may have libraries, but of ours only what is said here.
	for pkg, allowed := range map[string][]string{
		"./pkg/lock/etcdlock":            {own("pkg/fence"), own("pkg/lock"), own("pkg/lock/internal/attempt")},
		"./pkg/lock/natslock":            {own("pkg/fence"), own("pkg/internal/scopekey"), own("pkg/lock"), own("pkg/lock/internal/attempt")},
		"./pkg/lock/redislock":           {own("pkg/fence"), own("pkg/lock"), own("pkg/lock/internal/attempt")},
		"./pkg/lock/zklock":              {own("pkg/fence"), own("pkg/lock"), own("pkg/lock/internal/attempt")},
		"./pkg/fence/fencebolt":          {own("pkg/fence")},
		"./pkg/fence/fencedynamodb":      {own("pkg/fence"), own("pkg/internal/swap")},
		"./pkg/fence/fenceetcd":          {own("pkg/fence")},
		"./pkg/fence/fencegrpc":          {own("pkg/fence"), own("pkg/fence/fencehttp")},
		"./pkg/fence/fencenats":          {own("pkg/fence"), own("pkg/internal/scopekey"), own("pkg/internal/swap")},
		"./pkg/fence/fenceredis":         {own("pkg/fence")},
		"./pkg/fence/fences3":            {own("pkg/fence"), own("pkg/internal/scopekey"), own("pkg/internal/swap")},
		"./pkg/observe/observeotel":      {own("pkg/fence"), own("pkg/fence/fencehttp"), own("pkg/lock"), own("pkg/observe")},
		"./pkg/observe/observeprom":      {own("pkg/fence"), own("pkg/fence/fencehttp"), own("pkg/lock"), own("pkg/observe")},
		"./internal/judge/linear":        {}, // above all not pkg/fence: it is the second opinion
		"./internal/judge/lockmodel":     {}, // nor pkg/fence: it judges what clients say, and takes no rule from others
		"./internal/platform/strictyaml": {},
		"./internal/storage/access":      {own("pkg/fence"), own("internal/platform/strictyaml")},
		"./internal/judge":               {own("pkg/fence"), own("internal/history"), own("internal/judge/verdict"), own("internal/judge/linear"), own("internal/judge/lockmodel")},
		"./internal/scenario":            {own("internal/platform/nearest"), own("pkg/fence"), own("internal/history"), own("internal/scenario/setting"), own("internal/platform/strictyaml")},
		"./internal/scenario/setting":    {},
		"./internal/platform/fail":       {},
		"./internal/platform/nearest":    {},
		"./internal/service":             {own("internal/explore/model"), own("internal/platform/nearest"), own("pkg/fence"), own("pkg/lock"), own("internal/history"), own("internal/platform/kernel"), own("internal/platform/proc"), own("internal/scenario"), own("internal/scenario/setting"), own("internal/platform/strictyaml")},
		"./internal/explore/tale":        {own("internal/explore/model"), own("pkg/fence"), own("internal/history")},
		"./internal/explore/play":        {own("internal/explore"), own("internal/explore/model"), own("internal/explore/tale"), own("pkg/fence"), own("internal/history"), own("internal/judge/verdict"), own("internal/report/story"), own("internal/report/frames"), own("internal/report/hand"), own("internal/report/svg")},
		"./internal/explore/world":       {own("internal/explore/model"), own("internal/explore/tale"), own("internal/platform/nearest"), own("pkg/fence"), own("pkg/lock"), own("internal/history"), own("internal/platform/kernel"), own("internal/platform/proc"), own("internal/scenario"), own("internal/scenario/setting"), own("internal/platform/strictyaml"), own("internal/service")},
		"./internal/platform/kernel":     {},
		"./internal/storage/kv":          {own("internal/platform/kernel"), own("pkg/fence"), own("pkg/fence/fencehttp"), own("pkg/fence/fencebolt"), own("pkg/fence/fenceetcd")},
		"./internal/outside/program":     {own("internal/platform/webpage"), own("pkg/fence"), own("pkg/fence/fencehttp"), own("internal/history"), own("internal/platform/kernel"), own("internal/platform/proc"), own("internal/platform/ports")},
		"./internal/outside/laws":        {own("internal/platform/webpage"), own("pkg/fence"), own("pkg/fence/fencehttp"), own("pkg/fence/fencetest"), own("internal/outside/program"), own("internal/platform/kernel"), own("internal/platform/proc"), own("internal/platform/ports"), own("internal/history"), own("internal/report/story")},
		"./internal/outside/locklaws":    append([]string{own("pkg/lock/locktest"), own("pkg/fence/fencetest"), own("internal/outside/laws"), own("internal/outside/program"), own("internal/platform/ports"), own("internal/report/story"), own("internal/service/custom")}, stage...),
		"./internal/outside/stage":       stage,
		"./internal/outside/gate":        {own("internal/platform/webpage"), own("pkg/fence")},
		"./internal/outside/changes":     {own("internal/platform/sleep"), own("internal/service/redis/replica")},
		"./internal/outside/watch": append([]string{own("internal/platform/fail"), own("internal/outside/stage"), own("internal/outside/gate"), own("internal/outside/changes"), own("internal/platform/network"), own("internal/platform/ports"), own("internal/platform/sleep"),
			own("internal/clients/kept"), own("internal/clients/maven"), own("internal/service/postgres/postgresproc"), own("internal/service/mariadb/mariadbproc"), own("internal/service/redis/redisproc"), own("internal/service/redis/replica")}, stage...),
		"./internal/clients/agentcheck": append([]string{own("internal/platform/fail"), own("internal/outside/stage"), own("internal/clients/agent"), own("internal/storage/access"), own("internal/storage/kvhttp")}, stage...),
		"./internal/storage/kvhttp":     {own("pkg/fence"), own("pkg/fence/fencehttp"), own("pkg/fence/fencebolt"), own("pkg/fence/fenceetcd"), own("internal/platform/kernel"), own("internal/storage/kv"), own("internal/storage/access"), own("internal/platform/strictyaml"), own("internal/platform/webpage")},
		"./internal/platform/webpage":   {own("pkg/fence")},

		"./internal/report/story":    {own("pkg/fence"), own("internal/history")},
		"./internal/report/hand":     {},
		"./internal/report/frames":   {own("pkg/fence"), own("internal/history"), own("internal/report/story")},
		"./internal/report/terminal": {own("pkg/fence"), own("internal/history"), own("internal/platform/columns"), own("internal/report/story")},
		"./internal/report/svg":      {own("pkg/fence"), own("internal/history"), own("internal/report/story")},
		"./internal/report/page":     {own("pkg/fence"), own("internal/history"), own("internal/report/story"), own("internal/report/svg")},
		"./internal/report/ci":       {own("pkg/fence"), own("internal/history"), own("internal/report/story")},
	} {
		for _, dep := range of(pkg) {
			if strings.HasPrefix(dep, module) && !slices.Contains(allowed, dep) {
				t.Errorf("%s needs %s", pkg, dep)
			}
		}
	}
	for _, dep := range of("./cmd/gcsim") {
		if strings.HasPrefix(dep, own("cmd/")) {
			t.Errorf("./cmd/gcsim needs %s", dep)
		}
	}
}

// TestCoreIsAlone: core, tests included, is found without any other module. The
// workspace would hide what core does not require.
func TestCoreIsAlone(t *testing.T) {
	core := func(args ...string) string {
		cmd := exec.Command("go", append([]string{"-C", "pkg", "list"}, args...)...)
		cmd.Env = append(os.Environ(), "GOWORK=off")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("%v: %v\n%s", cmd.Args, err, out)
		}
		return string(out)
	}
	if list := core("-m", "all"); list != module+"pkg\n" {
		t.Errorf("core's list of modules is\n%s", list)
	}
	core("-deps", "-test", "./...")
}

// TestServersKeepPagesOut: whatever of gcsim and the storage serves HTTP obeys no web page. The
// guard is where the server is made, or the handler has it.
func TestServersKeepPagesOut(t *testing.T) {
	serves := regexp.MustCompile(`http\.(Server\{|Serve\(|ListenAndServe)`)
	guarded := regexp.MustCompile(`webpage\.Guard\(|kvhttp\.Guard\(|kvhttp\.NewHandler\(`)
	elsewhere := map[string]string{
		"cmd/gcsim/serve.go":                        "internal/serve/http.go",
		"internal/service/elasticsearch/service.go": "internal/service/elasticsearch/gate.go",
	}
	servers := 0
	for _, dir := range []string{"cmd", "internal"} {
		err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.HasPrefix(path, "internal/tools/bench/") {
				return err
			}
			source, err := os.ReadFile(path)
			if err != nil || !serves.Match(source) {
				return err
			}
			servers++
			where := cmp.Or(elsewhere[path], path)
			if source, err = os.ReadFile(where); err == nil && !guarded.Match(source) {
				t.Errorf("%s serves HTTP, and no guard is in %s", path, where)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if servers < 5 {
		t.Errorf("%d servers were found, want more: the test looks for something else", servers)
	}
}
