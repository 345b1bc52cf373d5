module github.com/fencelab/fencelab/pkg/lock/zklock

go 1.25.0

require (
	github.com/fencelab/fencelab/pkg v0.1.0
	github.com/go-zookeeper/zk v1.0.4
)

replace github.com/fencelab/fencelab/pkg => ../..
