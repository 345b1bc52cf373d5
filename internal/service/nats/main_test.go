package nats_test

import (
	"testing"

	"github.com/fencelab/fencelab/internal/lab/labtest"
	"github.com/fencelab/fencelab/internal/service/nats"
)

// services are those of these tests.
var services = labtest.Of(nats.Service())

// The test binary is its own members, storage, clients and janitor.
func TestMain(m *testing.M) { services.Main(m, 4) }
