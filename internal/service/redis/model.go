package redis

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// database is what a Redis holds, by its replication stream: its strings and hashes. Of
// keys of other types it knows nothing.
type database map[string]*value

// value is what a key holds.
type value struct {
	text   string
	fields map[string]string // of a hash; nil: it is a string
	until  time.Time         // when it expires; zero: never
}

// apply does what a command did.
func (d database) apply(command []string) {
	name, args := command[0], command[1:]
	if len(args) == 0 {
		if name == "FLUSHALL" || name == "FLUSHDB" {
			clear(d)
		}
		return
	}
	key := args[0]
	switch {
	case name == "DEL" || name == "UNLINK":
		for _, k := range args {
			delete(d, k)
		}
	case name == "FLUSHALL" || name == "FLUSHDB":
		clear(d)
	case name == "PERSIST":
		d.expire(key, time.Time{})
	case len(args) == 1:
		d.count(name, key, "1")
	case strings.HasPrefix(name, "H"):
		d.applyHash(name, key, args[1:])
	default:
		d.applyString(name, key, args[1:])
	}
}

func (d database) applyString(name, key string, args []string) {
	switch name {
	case "SET":
		d[key] = &value{text: args[0], until: d.deadline(key, args[1:])}
	case "SETNX", "GETSET":
		d[key] = &value{text: args[0]}
	case "SETEX", "PSETEX":
		d[key] = &value{text: args[1], until: in(strings.TrimSuffix(name, "SETEX")+"X", args[0])}
	case "PEXPIREAT":
		d.expire(key, in("PXAT", args[0]))
	case "EXPIREAT":
		d.expire(key, in("EXAT", args[0]))
	case "PEXPIRE":
		d.expire(key, in("PX", args[0]))
	case "EXPIRE":
		d.expire(key, in("EX", args[0]))
	default:
		d.count(name, key, args[0])
	}
}

// deadline is what the options of a SET say of when the key expires.
func (d database) deadline(key string, options []string) (until time.Time) {
	for i, o := range options {
		switch o := strings.ToUpper(o); {
		case o == "KEEPTTL" && d[key] != nil:
			until = d[key].until
		case slices.Contains([]string{"EX", "PX", "EXAT", "PXAT"}, o) && i+1 < len(options):
			until = in(o, options[i+1])
		}
	}
	return until
}

// in is a time, by the name of an option of SET.
func in(option, number string) time.Time {
	n, _ := strconv.ParseInt(number, 10, 64) // Redis has checked it
	switch option {
	case "PXAT":
		return time.UnixMilli(n)
	case "EXAT":
		return time.Unix(n, 0)
	case "EX":
		return time.Now().Add(time.Duration(n) * time.Second)
	}
	return time.Now().Add(time.Duration(n) * time.Millisecond)
}

func (d database) expire(key string, until time.Time) {
	if v := d[key]; v != nil {
		v.until = until
	}
}

// count does what counts.
func (d database) count(name, key, by string) {
	n, _ := strconv.ParseInt(by, 10, 64)
	switch name {
	case "DECR", "DECRBY":
		n = -n
	case "INCR", "INCRBY":
	default:
		return
	}
	v := d[key]
	if v == nil {
		v = new(value)
		d[key] = v
	}
	v.text = plus(v.text, n)
}

func plus(text string, n int64) string {
	old, _ := strconv.ParseInt(text, 10, 64)
	return strconv.FormatInt(old+n, 10)
}

func (d database) applyHash(name, key string, args []string) {
	v := d[key]
	if v == nil || v.fields == nil {
		v = &value{fields: make(map[string]string)}
		d[key] = v
	}
	switch name {
	case "HSET", "HMSET", "HSETNX":
		for i := 0; i+1 < len(args); i += 2 {
			v.fields[args[i]] = args[i+1]
		}
	case "HINCRBY":
		n, _ := strconv.ParseInt(args[1], 10, 64)
		v.fields[args[0]] = plus(v.fields[args[0]], n)
	case "HDEL":
		for _, f := range args {
			delete(v.fields, f)
		}
	}
	if len(v.fields) == 0 {
		delete(d, key)
	}
}

// clone is a copy, which changes to d leave alone.
func (d database) clone() database {
	c := make(database)
	for key, v := range d {
		copied := *v
		copied.fields = maps.Clone(v.fields)
		c[key] = &copied
	}
	return c
}
