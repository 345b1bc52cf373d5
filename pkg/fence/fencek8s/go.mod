module github.com/fencelab/fencelab/pkg/fence/fencek8s

go 1.25.0

require github.com/fencelab/fencelab/pkg v0.1.0

replace github.com/fencelab/fencelab/pkg => ../..
