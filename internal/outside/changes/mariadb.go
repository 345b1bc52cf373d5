package changes

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"

	"github.com/go-sql-driver/mysql"
)

// MariaDB is the account of a MariaDB by its binary log.
type MariaDB struct {
	db       *sql.DB
	config   *mysql.Config
	file     string // of the log
	position int64  // up to which it was read
	but      []string
}

// Binlog is the program that reads the log.
const Binlog = "mariadb-binlog"

// OpenMariaDB begins the account of the server at a URL, but for some tables.
func OpenMariaDB(ctx context.Context, at *url.URL, but []string) (*MariaDB, error) {
	if _, err := exec.LookPath(Binlog); err != nil {
		return nil, fmt.Errorf("what MariaDB changes is seen by %s: apt-get install mariadb-client: %w", Binlog, err)
	}
	c := mysql.NewConfig()
	c.Net, c.Addr, c.User, c.Logger = "tcp", at.Host, at.User.Username(), new(mysql.NopLogger)
	c.Passwd, _ = at.User.Password()
	connector, err := mysql.NewConnector(c)
	if err != nil {
		return nil, err
	}
	m := &MariaDB{db: sql.OpenDB(connector), config: c, but: but}
	if err := m.begin(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("what MariaDB changes is seen by its binary log, which needs log_bin, binlog_format = ROW and a user with REPLICATION SLAVE and BINLOG MONITOR: %w", err), m.Close())
	}
	return m, nil
}

func (m *MariaDB) begin(ctx context.Context) (err error) {
	var format string
	if err := m.db.QueryRowContext(ctx, "SELECT @@global.binlog_format").Scan(&format); err != nil {
		return err
	}
	if format != "ROW" {
		return fmt.Errorf("binlog_format is %s", format)
	}
	m.file, m.position, err = m.end(ctx)
	return err
}

// end is where the log ends.
func (m *MariaDB) end(ctx context.Context) (file string, position int64, err error) {
	var ignored any
	err = m.db.QueryRowContext(ctx, "SHOW MASTER STATUS").Scan(&file, &position, &ignored, &ignored)
	return file, position, err
}

func (m *MariaDB) Close() error { return m.db.Close() }

// Changes are the rows that were changed since the last call: table and primary key. It has all that was committed before.
func (m *MariaDB) Changes(ctx context.Context) (changed []string, err error) {
	file, end, err := m.end(ctx)
	switch {
	case err != nil:
		return nil, err
	case file != m.file:
		return nil, fmt.Errorf("the binary log went on from %s to %s", m.file, file)
	case end == m.position:
		return nil, nil
	}
	host, port, err := net.SplitHostPort(m.config.Addr)
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, Binlog, "--no-defaults", "--read-from-remote-server", "--verbose", "--base64-output=DECODE-ROWS",
		"--protocol=tcp", "--host="+host, "--port="+port, "--user="+m.config.User,
		fmt.Sprint("--start-position=", m.position), fmt.Sprint("--stop-position=", end), file)
	cmd.Env = append(os.Environ(), "MYSQL_PWD="+m.config.Passwd)
	out, err := cmd.Output()
	if err != nil {
		if exit, is := errors.AsType[*exec.ExitError](err); is {
			err = fmt.Errorf("%w: %s", err, exit.Stderr)
		}
		return nil, fmt.Errorf("%s: %w", Binlog, err)
	}
	m.position = end
	for _, r := range rowsOf(string(out)) {
		if slices.ContainsFunc(m.but, func(table string) bool { return strings.EqualFold(table, r.table) }) {
			continue
		}
		key := ""
		if r.op != "TRUNCATE" {
			if key, err = m.key(ctx, r); err != nil {
				return nil, err
			}
		}
		changed = append(changed, r.op+" "+r.name()+key)
	}
	return changed, nil
}

// row is one that was changed. A TRUNCATE names all of a table as in its statement.
type row struct {
	op, database, table string
	columns             map[string]string // number → value
}

func (r row) name() string { return strings.TrimPrefix(r.database+"."+r.table, ".") }

var (
	changedRow = regexp.MustCompile("^### (INSERT|UPDATE|DELETE)(?: INTO| FROM)? `(.*)`\\.`(.*)`$")
	changedAll = regexp.MustCompile(`(?i)^TRUNCATE (?:TABLE )?(.*)$`)
	field      = regexp.MustCompile(`^###   @(\d+)=(.*)$`)
)

// rowsOf reads what mariadb-binlog says. The fields of an UPDATE are first as they were, and then as they are.
func rowsOf(log string) (all []row) {
	for line := range strings.Lines(log) {
		line = strings.TrimSuffix(line, "\n")
		if found := changedRow.FindStringSubmatch(line); found != nil {
			all = append(all, row{found[1], found[2], found[3], make(map[string]string)})
		} else if found := changedAll.FindStringSubmatch(line); found != nil {
			all = append(all, row{op: "TRUNCATE", table: found[1]})
		} else if found := field.FindStringSubmatch(line); found != nil && len(all) > 0 {
			all[len(all)-1].columns[found[1]] = found[2]
		}
	}
	return all
}

// key is the primary key of a row, as in (id 1).
func (m *MariaDB) key(ctx context.Context, r row) (string, error) {
	rows, err := m.db.QueryContext(ctx, `SELECT ordinal_position, column_name FROM information_schema.columns
		WHERE table_schema = ? AND table_name = ? AND column_key = 'PRI' ORDER BY ordinal_position`, r.database, r.table)
	if err != nil {
		return "", err
	}
	defer rows.Close()
	var key []string
	for rows.Next() {
		var number, name string
		if err := rows.Scan(&number, &name); err != nil {
			return "", err
		}
		key = append(key, name+" "+r.columns[number])
	}
	if rows.Err() == nil && len(key) == 0 {
		return "", noKey(r.name())
	}
	return "(" + strings.Join(key, ", ") + ")", rows.Err()
}
