// Package all lists the lock services that there are.
package all

import (
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/service/etcd"
)

// List is all of them. The first is meant where nobody names one.
var List = []service.Service{
	etcd.Service{},
}
