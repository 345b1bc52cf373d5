package postgres_test

import (
	"testing"

	"github.com/fencelab/fencelab/internal/lab/labtest"
	"github.com/fencelab/fencelab/internal/service/postgres"
)

// services are those of these tests.
var services = labtest.Of(postgres.Service())

// The test binary is its own servers, storage, clients and janitor.
func TestMain(m *testing.M) { services.Main(m, 4) }
