package fencelab_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
)

// originals are the libraries in Java, by how the recipes that run them begin, the longest
// first, and where their version stands.
var originals = []struct{ recipe, folder, artifact string }{
	{"java/curator", "curator", "curator-recipes"},
	{"java/hazelcast", "hazelcast", "hazelcast"},
	{"java/jetcd", "jetcd", "jetcd-core"},
	{"java/redisson", "redisson", "redisson"},
	{"java/spring-jdbc", "jdbc", "spring-integration-jdbc"},
	{"java/spring", "spring", "spring-integration-redis"},
}

// original is the artifact that a recipe in Java runs, and its version.
func original(t *testing.T, recipe string) (artifact, version string) {
	t.Helper()
	for _, o := range originals {
		if !strings.HasPrefix(recipe, o.recipe) {
			continue
		}
		file := "internal/clients/java/" + o.folder + "/pom.xml"
		m := regexp.MustCompile(fmt.Sprintf(`<artifactId>%s</artifactId>\s*<version>([^<]+)</version>`, o.artifact)).FindStringSubmatch(read(t, file))
		if m == nil {
			t.Fatalf("%s has no version of %s", file, o.artifact)
		}
		return o.artifact, m[1]
	}
	t.Fatalf("nobody knows what library %s is", recipe)
	return "", ""
}

// TestStoriesSayTheVersion: what a library does can change with its next version, so a
// scenario that runs one says which, and so does its chapter.
func TestStoriesSayTheVersion(t *testing.T) {
	inJava := regexp.MustCompile(`\bjava/[a-z-]+`)
	found := 0
	for _, s := range allScenarios(t) {
		file, chapter := fmt.Sprintf("scenarios/%s/%s.yaml", s.Variants[0].World.Service, s.Name), chapters(s)+"/"+s.Name+".md"
		for _, recipe := range inJava.FindAllString(read(t, file), -1) {
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
		t.Error("no scenario runs a library in Java: the test looks for the wrong words")
	}
}
