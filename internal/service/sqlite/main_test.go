package sqlite_test

import (
	"testing"

	"github.com/fencelab/fencelab/internal/lab/labtest"
	"github.com/fencelab/fencelab/internal/service/sqlite"
)

// services are those of these tests.
var services = labtest.Of(sqlite.Service())

// The test binary is its own storage, clients and janitor.
func TestMain(m *testing.M) { services.Main(m, 4) }
