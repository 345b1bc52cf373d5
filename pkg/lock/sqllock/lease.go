package sqllock

import (
	"time"

	"github.com/fencelab/fencelab/pkg/lock"
)

// Lease is a tenure with a fixed lease. Its Extend extends no lease that is over by the holder's clock, even where the database
// still has it. If a statement of Extend is under way when ctx is done, it goes on, and the next call waits for its answer, until
// the lease is over.
type Lease struct{ *Tenure }

var _ lock.Extender = (*Lease)(nil)

// Until is as lock.Expirer says.
func (l *Lease) Until() time.Time { return l.life.Until() }
