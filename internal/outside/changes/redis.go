package changes

import (
	"context"
	"crypto/rand"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fencelab/fencelab/internal/service/redis/replica"
)

// Redis is the account of a Redis by its replication stream.
type Redis struct {
	client *redis.Client
	stream *replica.Stream
	but    func(key string) bool
	ends   map[string]time.Time // key → when its time is over
}

// OpenRedis begins the account of the Redis at a URL, but for some keys. writes are its commands that write.
func OpenRedis(ctx context.Context, url string, but func(key string) bool) (r *Redis, writes []string, err error) {
	options, err := redis.ParseURL(url)
	if err != nil {
		return nil, nil, err
	}
	r = &Redis{client: redis.NewClient(options), but: but, ends: make(map[string]time.Time)}
	commands, err := r.client.Command(ctx).Result()
	if err != nil {
		r.client.Close()
		return nil, nil, err
	}
	writes = []string{"xgroup"} // whose parts write
	for name, c := range commands {
		if slices.Contains(c.Flags, "write") {
			writes = append(writes, name)
		}
	}
	conn, err := net.Dial("tcp", options.Addr)
	if err == nil {
		r.stream, err = replica.Follow(ctx, conn, options.Username, options.Password)
	}
	if err != nil {
		r.client.Close()
		return nil, nil, fmt.Errorf("what Redis changes is seen by its replication stream: %w", err)
	}
	return r, writes, nil
}

func (r *Redis) Close() error {
	r.stream.Close()
	return r.client.Close()
}

// mark begins the keys that are written to be seen in the stream.
const mark = "fencelab_watch:"

// Changes are the commands that have changed a key since the last call. It has all that was answered before.
func (r *Redis) Changes(ctx context.Context) (changed []string, err error) {
	until := mark + rand.Text()
	if err := r.client.Set(ctx, until, "", time.Minute).Err(); err != nil {
		return nil, err
	}
	defer context.AfterFunc(ctx, r.stream.Close)()
	for {
		c, err := r.stream.Next()
		if err != nil {
			return nil, err
		}
		if len(c) > 1 && c[1] == until {
			return changed, nil
		}
		for _, key := range keysOf(c) {
			if !r.ranOut(c, key) && !strings.HasPrefix(key, mark) && !r.but(key) {
				changed = append(changed, c[0]+" "+key)
			}
		}
	}
}

// keysOf are the keys that a command of the stream changes.
func keysOf(c []string) (keys []string) {
	switch c[0] {
	case "PING", "SELECT", "REPLCONF", "MULTI", "EXEC", "PUBLISH", "SPUBLISH", "SCRIPT", "FUNCTION":
		return nil
	case "DEL", "UNLINK":
		return c[1:]
	case "MSET":
		for pair := range slices.Chunk(c[1:], 2) {
			keys = append(keys, pair[0])
		}
		return keys
	case "XGROUP":
		return c[2:3]
	case "FLUSHALL", "FLUSHDB":
		return []string{"all keys"}
	}
	return c[1:2]
}

// ranOut notes when a key's time will be over, and reports whether a command deletes one whose time is.
func (r *Redis) ranOut(c []string, key string) bool {
	now, end := time.Now(), r.ends[key]
	switch {
	case c[0] == "DEL" || c[0] == "UNLINK":
		delete(r.ends, key)
		return !end.IsZero() && !now.Before(end)
	case c[0] == "PEXPIREAT" && len(c) > 2:
		r.ends[key] = at(c[2])
	case c[0] == "SET":
		delete(r.ends, key)
		for i, word := range c[:len(c)-1] {
			switch strings.ToUpper(word) {
			case "PXAT":
				r.ends[key] = at(c[i+1])
			case "PX":
				ms, _ := strconv.ParseInt(c[i+1], 10, 64)
				r.ends[key] = now.Add(time.Duration(ms) * time.Millisecond)
			}
		}
	}
	return false
}

func at(ms string) time.Time {
	n, _ := strconv.ParseInt(ms, 10, 64)
	return time.UnixMilli(n)
}
