package kubernetes_test

import (
	"testing"

	"github.com/fencelab/fencelab/internal/lab/labtest"
	"github.com/fencelab/fencelab/internal/service/etcd"
	"github.com/fencelab/fencelab/internal/service/kubernetes"
)

// services are those of these tests: the API server has the process of an etcd behind it.
var services = labtest.Services{kubernetes.Service(), etcd.Service()}

// The test binary is its own etcd, storage, clients and janitor, and starts API servers.
func TestMain(m *testing.M) { services.Main(m, 2) }
