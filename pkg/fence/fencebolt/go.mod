module github.com/fencelab/fencelab/pkg/fence/fencebolt

go 1.25.0

require (
	github.com/fencelab/fencelab/pkg v0.1.0
	go.etcd.io/bbolt v1.5.0
)

require golang.org/x/sys v0.45.0 // indirect

replace github.com/fencelab/fencelab/pkg => ../..
