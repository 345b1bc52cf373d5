// Package access is a stand-in.
package access

import (
	"errors"
	"net/http"
)

var (
	ErrUnauthenticated = errors.New("u")
	ErrForbidden       = errors.New("f")
)

const (
	Read    = "read"
	Write   = "write"
	Admin   = "admin"
	Observe = "observe"
)

type Policy struct{}

type Principal struct{ Name string }

func (*Policy) Authenticate(*http.Request) (*Principal, error) { return nil, nil }

func (*Principal) May(right, scope string, keys ...string) error { return nil }

func Challenge(error) string { return "Bearer" }
