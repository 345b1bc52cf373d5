package redis

import (
	"encoding/hex"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/fencelab/fencelab/pkg/fence"
)

// database is what a Redis holds, by its replication stream: its strings and hashes. Of
// keys of other types it knows nothing.
type database map[string]*value

type value struct {
	text   string
	fields map[string]string // of a hash; nil: it is a string
	until  time.Time         // when it expires; zero: never
}

func (d database) apply(command []string) {
	if does := commands[command[0]]; does != nil {
		does(d, command[1:])
	}
}

// commands are those that change strings and hashes. Redis has checked the arguments: a key comes
// first, but for those that clear all.
var commands = map[string]func(d database, args []string){
	"DEL": remove, "UNLINK": remove,
	"FLUSHALL": func(d database, _ []string) { clear(d) },
	"FLUSHDB":  func(d database, _ []string) { clear(d) },

	"SET": func(d database, args []string) {
		d[args[0]] = &value{text: args[1], until: d.deadline(args[0], args[2:])}
	},
	"SETNX":  func(d database, args []string) { d[args[0]] = &value{text: args[1]} },
	"GETSET": func(d database, args []string) { d[args[0]] = &value{text: args[1]} },
	"SETEX":  func(d database, args []string) { d[args[0]] = &value{text: args[2], until: in("EX", args[1])} },
	"PSETEX": func(d database, args []string) { d[args[0]] = &value{text: args[2], until: in("PX", args[1])} },

	"INCR":   func(d database, args []string) { d.count(args[0], "1", 1) },
	"DECR":   func(d database, args []string) { d.count(args[0], "1", -1) },
	"INCRBY": func(d database, args []string) { d.count(args[0], args[1], 1) },
	"DECRBY": func(d database, args []string) { d.count(args[0], args[1], -1) },

	"PERSIST":   func(d database, args []string) { d.expire(args[0], time.Time{}) },
	"PEXPIREAT": func(d database, args []string) { d.expire(args[0], in("PXAT", args[1])) },
	"EXPIREAT":  func(d database, args []string) { d.expire(args[0], in("EXAT", args[1])) },
	"PEXPIRE":   func(d database, args []string) { d.expire(args[0], in("PX", args[1])) },
	"EXPIRE":    func(d database, args []string) { d.expire(args[0], in("EX", args[1])) },

	"HSET": setFields, "HMSET": setFields, "HSETNX": setFields,
	"HINCRBY": func(d database, args []string) {
		fields := d.hash(args[0])
		fields[args[1]] = plus(fields[args[1]], number(args[2]))
	},
	"HDEL": func(d database, args []string) {
		fields := d.hash(args[0])
		for _, f := range args[1:] {
			delete(fields, f)
		}
		if len(fields) == 0 {
			delete(d, args[0])
		}
	},
}

func remove(d database, keys []string) {
	for _, k := range keys {
		delete(d, k)
	}
}

func setFields(d database, args []string) {
	fields := d.hash(args[0])
	for pair := range slices.Chunk(args[1:], 2) {
		fields[pair[0]] = pair[1]
	}
}

// hash has the fields of a key, which it makes a hash.
func (d database) hash(key string) map[string]string {
	if v := d[key]; v == nil || v.fields == nil {
		d[key] = &value{fields: make(map[string]string)}
	}
	return d[key].fields
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
func in(option, text string) time.Time {
	n := number(text)
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

// count adds to what a key holds, so many times.
func (d database) count(key, by string, times int64) {
	if d[key] == nil {
		d[key] = new(value)
	}
	d[key].text = plus(d[key].text, times*number(by))
}

func plus(text string, n int64) string { return strconv.FormatInt(number(text)+n, 10) }

// number is one that Redis has checked; "" is 0.
func number(text string) int64 {
	n, _ := strconv.ParseInt(text, 10, 64)
	return n
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

// How keys say who holds a lock. A string at the lock's name holds the owner, as most
// recipes have it; a hash has a field for each owner, as Redisson has it.
const (
	fieldMode = "mode" // of a hash of Redisson's: who shares the lock with others
	modeRead  = "read"
)

// counterOf is the key of a lock's counter of tokens. The lock's name is the hash tag, so
// that both keys are in one slot of a cluster.
func counterOf(lock string) string { return "fencelab_token:{" + lock + "}" }

// keysOf are the keys that can say who holds a lock.
func keysOf(lock string) []string { return []string{lock, libraryKey(lock), shedLockKey(lock)} }

// libraryKey is that of package redislock.
func libraryKey(lock string) string { return "lock:" + tag(lock) }

// shedLockKey is the key of ShedLock by its defaults.
func shedLockKey(lock string) string { return "job-lock:default:" + tag(lock) }

// tag is a lock's name as a hash tag.
func tag(lock string) string {
	return "{" + strings.NewReplacer("%", "%25", "{", "%7B", "}", "%7D").Replace(lock) + "}"
}

// counter is where the tokens of a lock are counted: in a string, or a field of a hash.
type counter struct{ key, field string }

// counters are all that there can be.
func counters(lock string) []counter {
	return []counter{{counterOf(lock), ""}, {"redisson_lock_token:{" + lock + "}", ""}, {libraryKey(lock) + ":grants", "token"}}
}

// watched are the keys of a lock that the account is made of.
func watched(lock string) []string {
	keys := keysOf(lock)
	for _, c := range counters(lock) {
		keys = append(keys, c.key)
	}
	return keys
}

type holding struct {
	mode  fence.Mode
	until time.Time // when its key expires; zero: never
}

func (d database) holders(lock string) map[string]holding {
	held := make(map[string]holding)
	for _, key := range keysOf(lock) {
		switch v := d[key]; {
		case v == nil:
		case v.fields == nil:
			held[readable(v.text)] = holding{until: v.until}
		default:
			maps.Copy(held, v.owners())
		}
	}
	return held
}

// readable is an owner as a text: a library's may be random bytes, which are written in hexadecimal digits.
func readable(owner string) string {
	if utf8.ValidString(owner) {
		return owner
	}
	return hex.EncodeToString([]byte(owner))
}

// owners are those who hold the lock that is a hash.
func (v *value) owners() map[string]holding {
	held := make(map[string]holding)
	h := holding{until: v.until}
	if v.fields[fieldMode] == modeRead {
		h.mode = fence.Shared
	}
	for field := range v.fields {
		if field != fieldMode {
			held[field] = h
		}
	}
	return held
}

// counted is the token that a transaction has counted for a lock; 0: none.
func counted(lock string, before, now database) fence.Token {
	for _, c := range counters(lock) {
		if text := now.text(c.key, c.field); text != before.text(c.key, c.field) {
			n, _ := strconv.ParseUint(text, 10, 63) // where it is gone it is 0
			return fence.Token(n)
		}
	}
	return 0
}

// text is what a string holds, or a field of a hash.
func (d database) text(key, field string) string {
	v := d[key]
	switch {
	case v == nil:
		return ""
	case field != "":
		return v.fields[field]
	}
	return v.text
}
