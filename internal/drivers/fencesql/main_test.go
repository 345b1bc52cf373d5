package fencesql_test

import (
	"testing"

	"github.com/fencelab/fencelab/internal/drivers/sqltest"
)

func TestMain(m *testing.M) { sqltest.Main(m) }
