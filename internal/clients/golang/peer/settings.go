package main

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// settings are what is known of the client.
type settings struct {
	by           string
	ttl, timeout time.Duration
	ahead        time.Duration // by which its clock is wrong, where that can be chosen
	endpoints    []string
	fields       url.Values // all, those of one service too
}

// unknown is a setting for which there is no code.
type unknown struct{ error }

// known is what the libraries do, where a scenario could choose something else.
var known = map[string][]string{
	"look": {"", "begin", "nothing", "session", "owner", "acquired"}, "mode": {"", "exclusive"},
	"token": {"", "granted", "revision", "header"}, "unlock": {"", "compare"}, "renew": {"", "none"}, "wait": {"", "0"},
}

func parse(line string) (s settings, err error) {
	fields, err := url.ParseQuery(line)
	if err != nil {
		return s, err
	}
	for name, values := range known {
		if text := fields.Get(name); !slices.Contains(values, text) {
			return s, unknown{fmt.Errorf("--%s is %s, and this client knows %s", name, text, strings.Join(values, ", "))}
		}
	}
	s.fields, s.by, s.endpoints = fields, fields.Get("by"), strings.Split(fields.Get("endpoints"), ",")
	times := map[string]*time.Duration{"ttl": &s.ttl, "timeout": &s.timeout}
	if fields.Has("ahead") {
		times["ahead"] = &s.ahead
	}
	for name, to := range times {
		nanoseconds, err := strconv.ParseInt(fields.Get(name), 10, 64)
		if err != nil {
			return s, fmt.Errorf("--%s: %w", name, err)
		}
		*to = time.Duration(nanoseconds)
	}
	return s, nil
}

func open(s settings) (locks, error) {
	of := libraries[s.by]
	if of == nil {
		return nil, unknown{fmt.Errorf("--by is %s, and this client has no such library", s.by)}
	}
	return of(s)
}
