package etcdlock_test

import (
	"reflect"
	"sync/atomic"
	"time"

	"github.com/fencelab/fencelab/pkg/lock/etcdlock"
)

// age makes the last renewal of a tenure's lease older. It reaches into the tenure: a
// lease that is that old comes about only on a machine that stands still.
func age(t *etcdlock.Tenure, by time.Duration) {
	renewed := reflect.ValueOf(t).Elem().FieldByName("lease").Elem().FieldByName("renewed")
	(*atomic.Int64)(renewed.Addr().UnsafePointer()).Add(-int64(by))
}
