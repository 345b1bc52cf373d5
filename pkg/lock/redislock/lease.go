package redislock

import (
	"time"

	"github.com/fencelab/fencelab/pkg/lock"
)

// Lease is a tenure with a fixed lease. Its Extend extends no lease that is over by the holder's clock, even where Redis still
// has it.
type Lease struct{ *Tenure }

var _ lock.Extender = (*Lease)(nil)

// Until is as lock.Expirer says.
func (l *Lease) Until() time.Time { return l.life.Until() }
