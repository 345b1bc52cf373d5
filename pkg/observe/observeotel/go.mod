module github.com/fencelab/fencelab/pkg/observe/observeotel

go 1.25.0

require (
	github.com/fencelab/fencelab/pkg v0.1.0
	go.opentelemetry.io/otel v1.44.0
	go.opentelemetry.io/otel/metric v1.44.0
	go.opentelemetry.io/otel/trace v1.44.0
)

require github.com/cespare/xxhash/v2 v2.3.0 // indirect

replace github.com/fencelab/fencelab/pkg => ../..
