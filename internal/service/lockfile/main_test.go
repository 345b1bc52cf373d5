package lockfile_test

import (
	"testing"

	"github.com/fencelab/fencelab/internal/lab/labtest"
	"github.com/fencelab/fencelab/internal/service/lockfile"
)

// services are those of these tests.
var services = labtest.Of(lockfile.Service())

// The test binary is its own storage, clients and janitor.
func TestMain(m *testing.M) { services.Main(m, 8) }
