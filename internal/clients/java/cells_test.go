package java_test

import (
	"os"
	"regexp"
	"testing"

	"github.com/fencelab/fencelab/internal/clients/java"
	"github.com/fencelab/fencelab/internal/clients/java/javatest"
	"github.com/fencelab/fencelab/internal/clients/original/originaltest"
	"github.com/fencelab/fencelab/internal/lab/labtest"
	"github.com/fencelab/fencelab/internal/scenario/setting"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/service/all"
	"github.com/fencelab/fencelab/internal/service/dynamodb"
	"github.com/fencelab/fencelab/internal/service/etcd"
	"github.com/fencelab/fencelab/internal/service/hazelcast"
	"github.com/fencelab/fencelab/internal/service/postgres"
	"github.com/fencelab/fencelab/internal/service/redis"
	"github.com/fencelab/fencelab/internal/service/zookeeper"
)

func TestMain(m *testing.M) { labtest.Services(all.List).Main(m, 5) } // each story has three JVMs

// TestCells: docs/libraries-java.md has what each library does in the stories of package originaltest.
func TestCells(t *testing.T) {
	javatest.Need(t)
	redisson, shedLock := version(t, "redisson", "redisson"), version(t, "spring", "shedlock-provider-redis-spring")
	libraries := []originaltest.Library{
		{Title: "Redisson, `RLock`", Name: "redisson", Version: redisson, Service: redis.Service()},
		{Title: "Redisson, fair lock", Name: "redisson-fair", Version: redisson, Service: redis.Service()},
		{Title: "Redisson, `RFencedLock`", Name: "redisson-fenced", Version: redisson, Service: redis.Service(), Token: "a number that INCR counts in Redis"},
		{Title: "Spring Integration, `RedisLockRegistry`", Name: "spring", Version: version(t, "spring", "spring-integration-redis"), Service: redis.Service(), Own: 1, Registries: true},
		{Title: "Spring Integration, `JdbcLockRegistry`", Name: "spring-jdbc", Version: version(t, "jdbc", "spring-integration-jdbc"), Service: postgres.Service(), Connects: true, Registries: true},
		{Title: "Spring Integration, `ZookeeperLockRegistry`", Name: "spring-zookeeper", Version: version(t, "curator", "spring-integration-zookeeper"), Service: zookeeper.Service(), Own: 2, Token: "none; it does not tell the node of a lock"},
		{Title: "ShedLock, `JdbcTemplateLockProvider`", Name: "shedlock", Version: version(t, "shedlock", "shedlock-provider-jdbc-template"), Service: postgres.Service(), Asks: true, Connects: true},
		{Title: "ShedLock, `RedisLockProvider`", Name: "shedlock-redis", Version: shedLock, Service: redis.Service(), Asks: true},
		{Title: "ShedLock, `RedisLockProvider` with `safeUpdate`", Name: "shedlock-redis-safe", Version: shedLock, Service: redis.Service(), Asks: true},
		{Title: "Curator, `InterProcessMutex`", Name: "curator", Version: version(t, "curator", "curator-recipes"), Service: zookeeper.Service(), Own: 1, Token: "none; the program can read the `czxid` of its node"},
		{Title: "jetcd, `Lock`", Name: "jetcd", Version: version(t, "jetcd", "jetcd-core"), Service: etcd.Service(), Own: 1, Token: "none; the program can read the create revision of its key"},
		{Title: "Hazelcast, `FencedLock`", Name: "hazelcast", Version: version(t, "hazelcast", "hazelcast"), Service: hazelcast.Service(), Token: "a number that the members count", World: setting.Values{service.SettingSession: "3s"}},
		{Title: "Amazon's lock client for DynamoDB", Name: "dynamodb-lock-client", Version: version(t, "dynamodb", "dynamodb-lock-client"), Service: dynamodb.Service(), Registries: true, Measures: true},
	}
	for i := range libraries {
		libraries[i].Language = java.Name
	}
	originaltest.Page(t, "../../../docs/libraries-java.md", libraries)
}

// version is the pinned version of a library.
func version(t *testing.T, folder, artifact string) string {
	t.Helper()
	pom, err := os.ReadFile(folder + "/pom.xml")
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`<artifactId>` + artifact + `</artifactId>\s*<version>([^<]+)</version>`).FindSubmatch(pom)
	if m == nil {
		t.Fatalf("%s is not pinned", artifact)
	}
	return string(m[1])
}
