package sqllock

import (
	"crypto/md5"
	"crypto/rand"
	"database/sql"
	"fmt"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/fencelab/fencelab/pkg/fence"
)

// What a JdbcLockRegistry has by default.
const (
	SpringTTL    = 10 * time.Second
	SpringRegion = "DEFAULT"
)

// springTable is the table of Spring's locks, with the prefix that it has by default.
const springTable = "INT_LOCK"

// Spring returns a backend whose locks are those of a JdbcLockRegistry of Spring Integration
// 7, with a DefaultLockRepository in this region. The scope is the name of a lock. The table
// is Spring's: its documentation has the statement that creates it. To Spring each tenure is
// a client of its own, with a CLIENT_ID of its own.
//
// There are no tokens, the rows have no room for words, and nothing renews the tenures, which are of type *Lease. Leases are
// by the clocks of the clients, as Spring's are: a client whose clock is ahead takes a lock
// that is held. Each row is deleted when its lock is given back.
//
// Like Spring, Spring takes a name that is a UUID for the key of the row, in small letters,
// and makes a UUID of each other name by MD5. So a name and the UUID that is made of it are
// one lock. There is no dialect of SQLite in Spring.
func Spring(db *sql.DB, d Dialect, region string, ttl time.Duration, some ...Option) (*Backend, error) {
	o, err := choose(springTable, some)
	if err != nil {
		return nil, err
	}
	if n := utf8.RuneCountInString(region); n < 1 || n > 100 {
		return nil, fence.Definite.New(fmt.Sprintf("sqllock: a region of %d characters, want 1 to 100", n))
	}
	o.fixed = true
	return newBackend(db, d, ttl, o, format{
		prefix: "spring",
		owner:  randomUUID,
		key:    springKey,
		values: func(t ticket, ttl time.Duration) values {
			now := time.Now().UTC()
			return values{
				{"region", region}, {"key", t.key}, {"client", t.owner},
				{"now", now.Format(springTime)}, {"expires", now.Add(ttl).Format(springTime)},
			}
		},
	})
}

// springTime is a time in UTC, as the databases read it whatever the driver's settings are.
const springTime = "2006-01-02 15:04:05.000000"

var uuidText = regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)

// springKey is the LOCK_KEY of a name.
func springKey(name string) (string, error) {
	if name == "" {
		return "", fmt.Errorf("%w: it is empty", fence.ErrInvalidScope)
	}
	if uuidText.MatchString(name) {
		return strings.ToLower(name), nil
	}
	return uuid(md5.Sum([]byte(name)), 3), nil
}

// randomUUID is one that no tenure ever had.
func randomUUID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // which never fails
	return uuid(b, 4)
}

// uuid writes 16 bytes as a UUID of a version, by RFC 9562.
func uuid(b [16]byte, version byte) string {
	b[6] = b[6]&0x0f | version<<4
	b[8] = b[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
