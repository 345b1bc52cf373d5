package interop_test

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fencelab/fencelab/internal/clients/java/javatest"
	"github.com/fencelab/fencelab/internal/clients/maven"
	"github.com/fencelab/fencelab/internal/platform/proc/proctest"
	"github.com/fencelab/fencelab/internal/tools/need"
)

// TestSlots: some versions of Spring Integration's registries have 256 slots, and locks of one slot
// are one lock within a JVM: a thread does not get a lock that is free, and an unlock frees
// nothing. A later version has no slots.
func TestSlots(t *testing.T) {
	javatest.Need(t)
	for _, tt := range []struct {
		library, kind, on string
		one, two          string // locks of one slot
		mended            string // "": the version of the scenarios
	}{
		{"jdbc", "jdbc", "PostgreSQL", "0", "641", ""},
		{"jdbc", "jdbc", "PostgreSQL", "0", "641", "spring-integration-jdbc:7.1.1"},
		{"spring", "spin", "Redis", "Aa", "BB", ""},
		{"spring", "spin", "Redis", "Aa", "BB", "spring-integration-redis:7.1.2"},
	} {
		t.Run(tt.library+" "+tt.mended, func(t *testing.T) {
			var first []string // what comes first in the class path
			if tt.mended != "" {
				first = append(first, version(t, tt.mended))
			}
			s := servers[tt.on](t)
			group := proctest.Group(t)
			p := &pair{T: t, answers: make(chan string, 100)}
			here := inJava(group, "here", tt.kind, tt.library, s, nil, first...)
			there := inJava(group, "there", tt.kind, tt.library, s, nil, first...)
			one, two, elsewhere := p.user(here, tt.one), p.user(here, tt.two), p.user(there, tt.two)
			shared := tt.mended == ""
			free := map[bool]string{true: "refused", false: "locked"}[shared]

			one.do("lock", "locked")
			two.another().do("try", free)
			if !shared {
				two.another().do("unlock", "unlocked")
			}
			two.do("lock", "locked") // by the thread that has the other
			two.do("unlock", "unlocked")
			elsewhere.do("try", free)
		})
	}
}

// version fetches a module of Spring Integration, in a version, with what it needs, and returns the
// jars.
func version(t *testing.T, module string) (classPath string) {
	t.Helper()
	need.Programs(t, "to run another version of a library in Java", "mvn")
	name, number, _ := strings.Cut(module, ":")
	jars := maven.Libraries{Name: "spring-slots", POM: fmt.Appendf(nil, `<project>
  <modelVersion>4.0.0</modelVersion>
  <groupId>fencelab</groupId>
  <artifactId>slots</artifactId>
  <version>1</version>
  <dependencies>
    <dependency>
      <groupId>org.springframework.integration</groupId>
      <artifactId>%s</artifactId>
      <version>%s</version>
    </dependency>
  </dependencies>
</project>
`, name, number)}
	if err := jars.Get(t.Context(), io.Discard); err != nil {
		need.Missing(t, module+", which a test fetches by Maven ("+err.Error()+")", "to see what it has mended", "mvn dependency:get -Dartifact=org.springframework.integration:"+module)
	}
	return filepath.Join(jars.Found(), "*")
}
