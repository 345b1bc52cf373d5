package hazelcast_test

import (
	"testing"

	"github.com/fencelab/fencelab/internal/lab/labtest"
	"github.com/fencelab/fencelab/internal/service/hazelcast"
)

// services are those of these tests.
var services = labtest.Of(hazelcast.Service())

// The test binary is its own members, storage and janitor.
func TestMain(m *testing.M) { services.Main(m, 2) }
