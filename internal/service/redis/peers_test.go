package redis_test

import (
	"testing"

	"github.com/fencelab/fencelab/internal/need"
	"github.com/fencelab/fencelab/internal/peers/peerstest"
	"github.com/fencelab/fencelab/internal/service/redis"
	"github.com/fencelab/fencelab/internal/service/redis/redisproc"
)

// TestPeers: clients in Java have the tenures, the tokens and the verdicts that this service's
// own recipes of the same names have, and exclude them.
func TestPeers(t *testing.T) {
	peerstest.Need(t)
	if redisproc.Program() == "" {
		need.Program(t, "redis-server", "to tell the stories on")
	}
	for _, s := range parse(t, "testdata/java/*.yaml") {
		for i := range s.Variants {
			v := &s.Variants[i]
			t.Run(s.Name+"/"+v.Name, func(t *testing.T) {
				t.Parallel()
				run(t, s, v, redis.Service{}, nil)
			})
		}
	}
}
