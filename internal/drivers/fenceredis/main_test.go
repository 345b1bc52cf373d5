package fenceredis_test

import (
	"testing"

	"github.com/fencelab/fencelab/internal/service/redis/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m) }
