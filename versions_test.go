package fencelab_test

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// inJava, inPython, inNode, inGo and inRust have the version of a library in Java, Python, JavaScript, Go and Rust: the
// file, and how it names it.
func inJava(folder, artifact string) named {
	return named{"internal/clients/java/" + folder + "/pom.xml", artifact, `<artifactId>%s</artifactId>\s*<version>([^<]+)</version>`}
}

func inPython(library string) named {
	return named{"internal/clients/python/requirements.txt", library, `(?m)^%s==(\S+)$`}
}

func inNode(library string) named {
	return named{"internal/clients/nodejs/package.json", library, `"%s": "(?:npm:.+@)?([^"]+)"`}
}

func inGo(module string) named {
	return named{"internal/clients/golang/peer/pinned.mod", module, `(?m)^\t%s v(\S+)$`}
}

func inRust(library string) named {
	return named{"internal/clients/rust/peer/Cargo.toml", library, `(?m)^%s = .*"=([0-9.]+)"`}
}

type named struct{ file, artifact, pattern string }

// originals are the libraries in other languages, by how the recipes that run them begin, the longest first, and where
// their version stands.
var originals = []struct {
	recipe string
	named
}{
	{"go/bsm-redislock", inGo("github.com/bsm/redislock")},
	{"go/election", inGo("go.etcd.io/etcd/client/v3")},
	{"go/redsync", inGo("github.com/go-redsync/redsync/v4")},
	{"java/curator", inJava("curator", "curator-recipes")},
	{"java/dynamodb-lock-client", inJava("dynamodb", "dynamodb-lock-client")},
	{"java/hazelcast", inJava("hazelcast", "hazelcast")},
	{"java/jetcd", inJava("jetcd", "jetcd-core")},
	{"java/redisson", inJava("redisson", "redisson")},
	{"java/shedlock-redis", inJava("spring", "shedlock-provider-redis-spring")},
	{"java/shedlock", inJava("shedlock", "shedlock-provider-jdbc-template")},
	{"java/spring-jdbc", inJava("jdbc", "spring-integration-jdbc")},
	{"java/spring-zookeeper", inJava("curator", "spring-integration-zookeeper")},
	{"java/spring", inJava("spring", "spring-integration-redis")},
	{"node/etcd3", inNode("etcd3")},
	{"node/redis-semaphore", inNode("redis-semaphore")},
	{"node/redlock-4", inNode("redlock-4")},
	{"node/redlock", inNode("redlock")},
	{"node/sesamecare-redlock", inNode("@sesamecare-oss/redlock")},
	{"python/etcd3", inPython("etcd3")},
	{"python/kazoo", inPython("kazoo")},
	{"python/pottery", inPython("pottery")},
	{"python/python-redis-lock", inPython("python-redis-lock")},
	{"python/redis-py", inPython("redis")},
	{"rust/etcd-client", inRust("etcd-client")},
	{"rust/rslock", inRust("rslock")},
}

// pinned has the version of a module in a program that the user's Go compiles.
func pinned(program, module string) named {
	return named{"internal/service/" + program + "/pinned.mod", module, `(?m)^\t%s v(\S+)`}
}

// version is that of the library, as its file names it. The file has to name one.
func (n named) version(t *testing.T) string {
	t.Helper()
	m := regexp.MustCompile(fmt.Sprintf(n.pattern, n.artifact)).FindStringSubmatch(read(t, n.file))
	if m == nil {
		t.Fatalf("%s has no version of %s", n.file, n.artifact)
	}
	return m[1]
}

// original is the artifact that a recipe in another language runs, and its version.
func original(t *testing.T, recipe string) (artifact, version string) {
	t.Helper()
	for _, o := range originals {
		if !strings.HasPrefix(recipe, o.recipe) {
			continue
		}
		return o.artifact, o.version(t)
	}
	t.Fatalf("nobody knows what library %s is", recipe)
	return "", ""
}

// recipeOfOthers is the name of a recipe that runs a library in another language, and others finds them.
const recipeOfOthers = `(?:java|python|node|go|rust)/[a-z0-9-]+`

var others = regexp.MustCompile(`\b` + recipeOfOthers)

// TestStoriesSayTheVersion: what a library does can change with its next version, so a
// scenario that runs one says which, and so does its chapter.
func TestStoriesSayTheVersion(t *testing.T) {
	found := 0
	for _, s := range allScenarios(t) {
		file, chapter := fmt.Sprintf("scenarios/%s/%s.yaml", s.Variants[0].World.Service, s.Name), chapters(s)+"/"+s.Name+".md"
		for _, recipe := range others.FindAllString(read(t, file), -1) {
			found++
			artifact, version := original(t, recipe)
			for _, where := range []string{file, chapter} {
				if !strings.Contains(read(t, where), version) {
					t.Errorf("%s runs %s by %s, and does not say its version, %s", where, artifact, recipe, version)
				}
			}
		}
	}
	if found == 0 {
		t.Error("no scenario runs a library in another language: the test looks for the wrong words")
	}
}

// TestTextsSayTheVersion: what texts say of a program that is compiled or fetched is of the version that runs.
func TestTextsSayTheVersion(t *testing.T) {
	for _, of := range []struct {
		service, name string
		library       named
	}{
		{"nats", "nats-server", pinned("nats/natsproc/_program", "github.com/nats-io/nats-server/v2")},
		{"nats", "nats.go", pinned("nats/natsproc/_program", "github.com/nats-io/nats.go")},
		{"s3", "versitygw", pinned("s3/s3proc/_program", "github.com/versity/versitygw")},
		{"dynamodb", "DynamoDB Local", named{"internal/service/dynamodb/ddbproc/pom.xml", "DynamoDBLocal", `<artifactId>%s</artifactId>\s*<version>([^<]+)</version>`}},
		{"kubernetes", "kube-apiserver", pinned("kubernetes/kubeproc/_server", "k8s.io/kubernetes")},
		{"kubernetes", "client-go", pinned("kubernetes/kubeproc/_client", "k8s.io/client-go")},
	} {
		said := regexp.MustCompile(`\b` + regexp.QuoteMeta(of.name) + `(?:\]\([^)]*\))?\s+([0-9]+\.[0-9]+\.[0-9]+)`)
		found, want := 0, of.library.version(t)
		for _, pattern := range []string{"docs/%s/*.md", "docs/%s/*.tmpl", "scenarios/%s/*.yaml"} {
			files, err := filepath.Glob(fmt.Sprintf(pattern, of.service))
			if err != nil {
				t.Fatal(err)
			}
			for _, file := range files {
				for _, m := range said.FindAllStringSubmatch(read(t, file), -1) {
					found++
					if m[1] != want {
						t.Errorf("%s says %q, and the version is %s", file, m[0], want)
					}
				}
			}
		}
		if found == 0 {
			t.Errorf("no text names a version of %s: the test looks for the wrong words", of.name)
		}
	}
}

// released is a version in a text.
var released = regexp.MustCompile(`\bv?([0-9]+\.[0-9]+\.[0-9]+(?:-[a-z0-9.]+[a-z0-9])?)\b`)

// TestRecipesSayTheVersion: what the recipe of a library says, and its stories beside the service, is of the version that runs.
func TestRecipesSayTheVersion(t *testing.T) {
	says := func(where, text string, recipes ...string) (versions int) {
		var run []string
		for _, recipe := range recipes {
			_, version := original(t, recipe)
			run = append(run, version)
		}
		said := released.FindAllStringSubmatch(text, -1)
		for _, m := range said {
			if !slices.Contains(run, m[1]) {
				t.Errorf("%s says %s, and runs %s", where, m[1], run)
			}
		}
		return len(said)
	}
	found := 0
	for _, m := range regexp.MustCompile("(?m)^\\| `("+recipeOfOthers+")`.*$").FindAllStringSubmatch(read(t, "docs/scenarios.md"), -1) {
		found += says("the recipe "+m[1], m[0], m[1])
	}
	if found < len(originals) {
		t.Errorf("the recipes of %d libraries say %d versions: the test looks for the wrong words", len(originals), found)
	}
	files, err := filepath.Glob("internal/service/*/testdata/*/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	found = 0
	for _, file := range files {
		text := read(t, file)
		if recipes := others.FindAllString(text, -1); recipes != nil {
			found += says(file, text, recipes...)
		}
	}
	if found == 0 {
		t.Error("no story says the version of a library: the test looks for the wrong words")
	}
}

// TestIssuesSayTheVersion: what is open in libraries is open in the versions that run.
func TestIssuesSayTheVersion(t *testing.T) {
	inDrivers := func(module string) named { return named{"internal/drivers/go.mod", module, `(?m)^\t%s v(\S+)`} }
	libraries := map[string]named{
		"Redisson": inJava("redisson", "redisson"), "Curator": inJava("curator", "curator-recipes"),
		"ShedLock":          inJava("shedlock", "shedlock-provider-jdbc-template"),
		"ShedLock on Redis": inJava("spring", "shedlock-provider-redis-spring"),
		"redis-py":          inPython("redis"), "python-redis-lock": inPython("python-redis-lock"), "kazoo": inPython("kazoo"),
		"redsync": inGo("github.com/go-redsync/redsync/v4"), "node redlock": inNode("redlock"),
		"golang-migrate": inDrivers("github.com/golang-migrate/migrate/v4"), "goose": inDrivers("github.com/pressly/goose/v3"),
	}
	rows := regexp.MustCompile(`(?m)^\| ([^|]+ [0-9][^|]+) \| \[`).FindAllStringSubmatch(read(t, "docs/library-issues.md"), -1)
	if len(rows) == 0 {
		t.Fatal("docs/library-issues.md has no rows: the test looks for the wrong words")
	}
	for _, row := range rows {
		for _, said := range strings.Split(row[1], ", ") {
			version := released.FindString(said)
			library, known := libraries[strings.Replace(said, " "+version, "", 1)]
			if !known {
				t.Errorf("nobody knows what library %q is", said)
			} else if runs := library.version(t); version != runs {
				t.Errorf("docs/library-issues.md says %s, and %s runs", said, runs)
			}
		}
	}
}
