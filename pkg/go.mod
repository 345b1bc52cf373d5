module github.com/fencelab/fencelab/pkg

go 1.25.0
