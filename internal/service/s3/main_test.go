package s3_test

import (
	"testing"

	"github.com/fencelab/fencelab/internal/lab/labtest"
	"github.com/fencelab/fencelab/internal/service/s3"
)

// services are those of these tests.
var services = labtest.Of(s3.Service())

// The test binary is its own server, storage, clients and janitor.
func TestMain(m *testing.M) { services.Main(m, 4) }
