// Package storage holds storages in other languages, which docs/your-storage.md is about.
package storage

import _ "embed"

// Python is a storage that breaks no law: storage.py.
//
//go:embed storage.py
var Python []byte
