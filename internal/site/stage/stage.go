// Package stage writes a page whose stage has the explorer's model for its world: nothing is installed or asked of a
// server.
package stage

// Write writes the page into a directory. wasm is the program of internal/explore/play/wasm, compiled for js and
// wasm; dir/index.html#SCENARIO/VARIANT is the stage of a variant.
func Write(dir string, wasm []byte) error { return nil }

// Has reports whether the model has a variant of a scenario that gcsim brings with it.
func Has(scenario, variant string) bool { return false }
