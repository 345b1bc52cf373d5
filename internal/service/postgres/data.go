package postgres

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/service/sqlservice"
	"github.com/fencelab/fencelab/internal/setting"
)

var (
	//go:embed sql/resource_look.sql
	resourceLook string
	//go:embed sql/resource_read.sql
	resourceRead string
	//go:embed sql/resource_write.sql
	resourceWrite string
	//go:embed sql/resource_refused.sql
	resourceRefused string
	//go:embed sql/resource_final.sql
	resourceFinal string
)

// Those that keep nobody out.
var (
	version = sqlservice.Version(look)
	status  = sqlservice.Status(look)
)

// messagePrefix is how the messages begin that tell the account of the data.
const messagePrefix = "fencelab-"

// look reads the row by a recipe, and has a message tell of it.
func look(by, kind string) sqlservice.Looking[*pgx.Conn] {
	return func(ctx context.Context, conn *pgx.Conn, a *attempt) (seen sqlservice.Seen, err error) {
		err = conn.QueryRow(ctx, resourceLook, a.Lock, messagePrefix+kind, a.Owner, by).Scan(&seen.Version, &seen.Status, nil)
		return seen, err
	}
}

// Find implements sqlservice.Keeping, as those below do.
func (place) Find(ctx context.Context, conn *pgx.Conn, lock, key string, told []history.Event) (value *string, err error) {
	err = conn.QueryRow(ctx, resourceRead, lock, key, sqlservice.InJSON(told)).Scan(&value, nil)
	return value, err
}

// Keeps is never so: no transaction goes on after an error.
func (place) Keeps(error, setting.Values) bool { return false }

// Change is one UPDATE.
func (place) Change(ctx context.Context, conn *pgx.Conn, c *sqlservice.Change) (now sqlservice.Seen, made bool, err error) {
	set, deleted := make(map[string]string), []string{}
	for _, e := range c.Told {
		if e.Op == history.OpDelete {
			deleted = append(deleted, e.Key)
		} else {
			set[e.Key] = e.Value
		}
	}
	told := sqlservice.InJSON(c.Told)
	err = conn.QueryRow(ctx, resourceWrite, c.Lock, set, deleted, told, c.Compare, c.Read.Version, c.Read.Status, c.Tenure).Scan(&now.Version, &now.Status)
	if c.Compare == "" || !errors.Is(err, pgx.ErrNoRows) {
		return now, err == nil, err
	}
	err = conn.QueryRow(ctx, resourceRefused, c.Lock, told).Scan(&now.Version, &now.Status, nil)
	return now, false, err
}

// Final implements service.Keeper.
func (s *servers) Final(ctx context.Context, key string) (value string, has bool, err error) {
	err = s.administer(ctx, s.database, func(conn *pgx.Conn) error {
		return conn.QueryRow(ctx, resourceFinal, key).Scan(&value)
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return "", false, nil
	}
	return value, err == nil, err
}

// resourceTable has the data, in the row of each lock.
const resourceTable = "resource"

// resourceTime is how the log has a time.
const resourceTime = "2006-01-02 15:04:05.999999-07"

var messageLine = regexp.MustCompile(`(?s)^message: transactional: 1 prefix: ` + messagePrefix + `(\w+), sz: \d+ content:(\{.*)$`)

// dataMessage reads a line of the log that is a message of one of the statements here.
func dataMessage(line string) (kind, content string, is bool) {
	found := messageLine.FindStringSubmatch(line)
	if found == nil {
		return "", "", false
	}
	return found[1], found[2], true
}

// message takes in what a message tells.
func (w *watch) message(kind, content string) error {
	var told sqlservice.DataTold
	if err := json.Unmarshal([]byte(content), &told); err != nil {
		return err
	}
	told.At = told.At.Add(-w.behind)
	w.of.data.Take(kind, told)
	return nil
}

// dataRow takes in that the row of a lock's data has changed.
func (w *watch) dataRow(c change) error {
	if c.columns["request"] == "" {
		return nil // it was made
	}
	told := sqlservice.DataTold{Lock: c.columns["name"], Owner: c.columns["tenure"]}
	var data map[string]string
	at, err := time.Parse(resourceTime, c.columns["at"])
	if err == nil {
		_, err = fmt.Sscan(c.columns["version"], &told.Version)
	}
	if err == nil {
		err = json.Unmarshal([]byte(c.columns["data"]), &data)
	}
	if err == nil {
		err = json.Unmarshal([]byte(c.columns["request"]), &told.Events)
	}
	if err != nil {
		return err
	}
	told.At = at.Add(-w.behind)
	if status, has := data["status"]; has {
		told.Status = &status
	}
	for i, e := range told.Events {
		value, has := data[e.Key]
		told.Events[i].Value, told.Events[i].Missing = value, !has && e.Op != history.OpDelete
	}
	w.of.data.Take(sqlservice.ToldChanged, told)
	return nil
}
