// Package all lists the lock services that there are.
package all

import (
	"strings"

	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/service/etcd"
)

// List is all of them. The first is meant where nobody names one.
var List = []service.Service{
	etcd.Service{},
}

// Names are those of the services, for messages.
func Names() string {
	var names []string
	for _, s := range List {
		names = append(names, s.Name())
	}
	return strings.Join(names, ", ")
}
