package etcdlock

import "time"

// Age makes the last renewal of the tenure's lease older.
func (t *Tenure) Age(by time.Duration) { t.lease.renewed.Add(-int64(by)) }
