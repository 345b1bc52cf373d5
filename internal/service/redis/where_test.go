package redis_test

import (
	"os"
	"slices"
	"testing"

	"github.com/fencelab/fencelab/internal/service/redis"
)

// TestWhereIsToldToClients: by their environment, as no list of processes shows that. The
// program's own stays as it is.
func TestWhereIsToldToClients(t *testing.T) {
	const name, where = "FENCELAB_REDIS_URL", "redis://me:secret@127.0.0.1:1"
	before := os.Getenv(name)
	of, endpoints, err := redis.Service().At(where)
	if err != nil || !slices.Equal(endpoints, []string{"127.0.0.1:1"}) {
		t.Fatal(endpoints, err)
	}
	if want := []string{name + "=" + where}; !slices.Equal(of.Env, want) {
		t.Errorf("clients are told %q, want %q", of.Env, want)
	}
	if os.Getenv(name) != before {
		t.Errorf("%s is set", name)
	}
}
