// Package all lists the lock services that there are.
package all

import (
	"slices"

	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/service/custom"
	"github.com/fencelab/fencelab/internal/service/dynamodb"
	"github.com/fencelab/fencelab/internal/service/elasticsearch"
	"github.com/fencelab/fencelab/internal/service/etcd"
	"github.com/fencelab/fencelab/internal/service/hazelcast"
	"github.com/fencelab/fencelab/internal/service/kubernetes"
	"github.com/fencelab/fencelab/internal/service/lockfile"
	"github.com/fencelab/fencelab/internal/service/mariadb"
	"github.com/fencelab/fencelab/internal/service/nats"
	"github.com/fencelab/fencelab/internal/service/postgres"
	"github.com/fencelab/fencelab/internal/service/redis"
	"github.com/fencelab/fencelab/internal/service/s3"
	"github.com/fencelab/fencelab/internal/service/sqlite"
	"github.com/fencelab/fencelab/internal/service/zookeeper"
)

// List is all that have scenarios and chapters. The first is meant where nobody names one.
var List = []*service.Service{
	etcd.Service(),
	redis.Service(),
	postgres.Service(),
	mariadb.Service(),
	sqlite.Service(),
	zookeeper.Service(),
	elasticsearch.Service(),
	hazelcast.Service(),
	nats.Service(),
	kubernetes.Service(),
	s3.Service(),
	dynamodb.Service(),
	lockfile.Service(),
}

// Named are all that a scenario can name: those, and one that the user brings.
var Named = append(slices.Clone(List), custom.Service())

// Chapters is the folder of the chapters about a service's scenarios.
func Chapters(service string) string {
	if service == List[0].Name {
		return "docs"
	}
	return "docs/" + service
}
