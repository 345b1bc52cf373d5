package mariadb

import (
	"testing"

	"github.com/go-sql-driver/mysql"
)

// TestDriverIsSilent: what goes wrong is told by gcsim, not by its driver on standard error.
func TestDriverIsSilent(t *testing.T) {
	c, err := place{url: "mysql://root@127.0.0.1:3306", addr: "127.0.0.1:3306"}.config("")
	if err != nil {
		t.Fatal(err)
	}
	if _, silent := c.Logger.(*mysql.NopLogger); !silent {
		t.Errorf("the driver logs by %T", c.Logger)
	}
}
