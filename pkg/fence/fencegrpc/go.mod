module github.com/fencelab/fencelab/pkg/fence/fencegrpc

go 1.25.0

require (
	github.com/fencelab/fencelab/pkg v0.1.0
	google.golang.org/genproto/googleapis/rpc v0.0.0-20260526163538-3dc84a4a5aaa
	google.golang.org/grpc v1.83.2
	google.golang.org/protobuf v1.36.11
)

require (
	golang.org/x/net v0.58.0 // indirect
	golang.org/x/sys v0.47.0 // indirect
	golang.org/x/text v0.41.0 // indirect
)

replace github.com/fencelab/fencelab/pkg => ../..
