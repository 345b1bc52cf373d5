package main

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// TestMain refuses to be a process of a run: no test here makes one, and one by mistake
// would start these tests again and again.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && !strings.HasPrefix(os.Args[1], "-") {
		fmt.Fprintln(os.Stderr, "a test of gcsim made a run")
		os.Exit(2)
	}
	m.Run()
}
