package dynamodb_test

import (
	"testing"

	"github.com/fencelab/fencelab/internal/lab/labtest"
	"github.com/fencelab/fencelab/internal/service/dynamodb"
)

// services are those of these tests.
var services = labtest.Of(dynamodb.Service())

// The test binary is its own server, storage, clients and janitor.
func TestMain(m *testing.M) { services.Main(m, 4) }
