package sqlservice

import (
	"context"
	"encoding/json"
	"fmt"
	"time"
)

// DataLog is the table data_told of a database. Triggers and clients write into it what happens
// to the data, in the transaction in which it happens.
type DataLog[C Conn] struct {
	*DataAccount[C]
	seen map[int64]bool // as in Log
}

// DataLine is one line of it.
type DataLine struct {
	number int64
	kind   string
	DataTold
}

// Read is what was committed and not taken in yet, in the order of the changes of each row.
// behind is this machine's clock behind the database's.
func (l *DataLog[C]) Read(ctx context.Context, conn C, behind time.Duration) (list []DataLine, err error) {
	l.Asking()
	rows, err := conn.QueryContext(ctx, "SELECT number, kind, at, content FROM data_told ORDER BY number")
	if err != nil {
		return nil, fmt.Errorf("read what was told of the data: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var at int64 // µs since 1970
		var content []byte
		var t DataLine
		if err := rows.Scan(&t.number, &t.kind, &at, &content); err != nil {
			return nil, fmt.Errorf("read what was told of the data: %w", err)
		}
		if l.seen[t.number] {
			continue
		}
		if err := json.Unmarshal(content, &t.DataTold); err != nil {
			return nil, fmt.Errorf("what was told of the data is %q: %w", content, err)
		}
		t.At = time.UnixMicro(at).Add(-behind)
		list = append(list, t)
	}
	return list, rows.Err()
}

// TakeAll has the account take in lines.
func (l *DataLog[C]) TakeAll(list []DataLine) {
	if l.seen == nil {
		l.seen = make(map[int64]bool)
	}
	for _, t := range list {
		l.seen[t.number] = true
		l.Take(t.kind, t.DataTold)
	}
}
