package mariadb

import (
	"context"
	"fmt"
	"net"

	"github.com/fencelab/fencelab/internal/platform/proc"
	"github.com/fencelab/fencelab/internal/scenario/setting"
	"github.com/fencelab/fencelab/internal/service/mariadb/mariadbproc"
	"github.com/fencelab/fencelab/internal/service/sqlservice"
)

// replicated are settings by which a server writes what another one follows, and says of what it follows itself.
var replicated = []string{"log-bin=bin", "log-slave-updates", "binlog-format=ROW"}

var pair = sqlservice.Pair{Follow: follow, Has: has, Promote: promote}

// follow starts a standby, which reads all that its server has done since it was made.
func follow(ctx context.Context, g *proc.Group, world setting.Values, leader string) (sqlservice.Server, error) {
	host, port, err := net.SplitHostPort(leader)
	if err != nil {
		return nil, err
	}
	settings := append(arguments(world), replicated...)
	server, err := mariadbproc.Start(ctx, g, mariadbproc.Program(), append(settings, "server-id=2", "rpl-semi-sync-slave-enabled=ON")...)
	if err != nil {
		return nil, err
	}
	conn, err := place{ownURL, server.Endpoint()}.Beside(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.HangUp()
	_, err = conn.Run(ctx, fmt.Sprintf("CHANGE MASTER TO MASTER_HOST = '%s', MASTER_PORT = %s, MASTER_USER = 'root', MASTER_USE_GTID = slave_pos, MASTER_CONNECT_RETRY = 1; START SLAVE", host, port))
	return server, err
}

func has(ctx context.Context, leader, standby sqlservice.Conn) (has bool, err error) {
	var position string
	if err := leader.Row(ctx, "SELECT @@gtid_binlog_pos").Scan(&position); err != nil {
		return false, err
	}
	err = standby.Row(ctx, "SELECT MASTER_GTID_WAIT($1, 0) = 0", position).Scan(&has)
	return has, err
}

// promote does what the standby has received, and ends that it follows.
func promote(ctx context.Context, standby sqlservice.Conn) error {
	if _, err := standby.Run(ctx, "STOP SLAVE IO_THREAD"); err != nil {
		return err
	}
	received, err := received(ctx, standby.(*link).Link)
	if err != nil {
		return err
	}
	var did bool
	if err := standby.Row(ctx, "SELECT MASTER_GTID_WAIT($1) = 0", received).Scan(&did); err != nil {
		return err
	}
	_, err = standby.Run(ctx, "STOP SLAVE; RESET SLAVE ALL")
	return err
}

// received is up to where a standby has received what its server did.
func received(ctx context.Context, standby *sqlservice.Link) (position string, err error) {
	rows, err := standby.QueryContext(ctx, "SHOW SLAVE STATUS")
	if err != nil {
		return "", err
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		return "", err
	}
	to := make([]any, len(columns))
	for i, name := range columns {
		to[i] = new(any)
		if name == "Gtid_IO_Pos" {
			to[i] = &position
		}
	}
	for rows.Next() {
		if err := rows.Scan(to...); err != nil {
			return "", err
		}
	}
	return position, rows.Err()
}
