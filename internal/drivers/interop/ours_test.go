package interop_test

import (
	"bufio"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/spf13/cobra"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/fencelab/fencelab/pkg/lock"
	"github.com/fencelab/fencelab/pkg/lock/etcdlock"
	"github.com/fencelab/fencelab/pkg/lock/redislock"
	"github.com/fencelab/fencelab/pkg/lock/sqllock"
	"github.com/fencelab/fencelab/pkg/lock/zklock"
)

// registry is the key of the RedisLockRegistry of both sides.
const registry = "registry"

// backends are made by our packages: of a kind of lock, with a lease, at a server.
var backends = map[string]func(server, kind string, lease time.Duration) (lock.Backend, error){
	"redislock": func(server, kind string, lease time.Duration) (lock.Backend, error) {
		client := redis.NewClient(&redis.Options{Addr: server})
		switch kind {
		case "lock":
			return redislock.Redisson(client, lease)
		case "fenced":
			return redislock.RedissonFenced(client, lease)
		case "fair":
			return redislock.RedissonFair(client, lease, redislock.RedissonWait)
		case "write":
			return redislock.RedissonReadWrite(client, lease)
		case "read":
			both, err := redislock.RedissonReadWrite(client, lease)
			return lock.Shared(both), err
		case "spring":
			return redislock.Spring(client, registry, lease)
		}
		return nil, errors.New(kind)
	},
	"zklock": func(server, kind string, lease time.Duration) (lock.Backend, error) {
		switch kind {
		case "mutex":
			return zklock.Mutex([]string{server}, lease)
		case "write":
			return zklock.New([]string{server}, lease)
		case "read":
			both, err := zklock.New([]string{server}, lease)
			return lock.Shared(both), err
		}
		return nil, errors.New(kind)
	},
	"etcdlock": func(server, kind string, lease time.Duration) (lock.Backend, error) {
		client, err := clientv3.New(clientv3.Config{Endpoints: []string{server}})
		if err != nil {
			return nil, err
		}
		both, err := etcdlock.New(client, lease)
		if kind == "read" {
			return lock.Shared(both), err
		}
		return both, err
	},
	"sqllock": func(server, _ string, lease time.Duration) (lock.Backend, error) {
		driver, source, _ := strings.Cut(server, " ")
		dialect := map[string]sqllock.Dialect{"pgx": sqllock.PostgreSQL, "mysql": sqllock.MySQL}[driver]
		db, err := sql.Open(driver, source)
		if err != nil {
			return nil, err
		}
		return sqllock.Spring(db, dialect, sqllock.SpringRegion, lease, sqllock.Poll(10*time.Millisecond))
	},
}

// ourRole is the first argument of a process that is our side.
const ourRole = "peer"

// ourCommand is the role of our side: it does with a package of ours as Interop.java does with a
// library.
func ourCommand() *cobra.Command {
	return &cobra.Command{Use: ourRole + " PACKAGE SERVER", Args: cobra.ExactArgs(2), RunE: func(_ *cobra.Command, args []string) error {
		made := make(map[string]lock.Backend) // by kind and lease
		locks := make(map[string]*held)       // by the thread and name as well
		threads := make(map[string]chan func())
		fmt.Println("- ready")
		for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
			words := strings.Split(lines.Text(), " ")
			thread, service, one := words[0], words[1]+" "+words[2], strings.Join(words[:4], " ")
			if locks[one] == nil {
				millis, err := strconv.Atoi(words[2])
				if err != nil {
					return err
				}
				lease := time.Duration(millis) * time.Millisecond
				if made[service] == nil {
					if made[service], err = backends[args[0]](args[1], words[1], lease); err != nil {
						return err
					}
				}
				locks[one] = newHeld(made[service], words[3], lease)
			}
			queue := threads[thread]
			if queue == nil {
				queue = make(chan func(), 1)
				threads[thread] = queue
				go func() {
					for do := range queue {
						do()
					}
				}()
			}
			lock := locks[one]
			queue <- func() {
				answer, err := lock.obey(words[4:])
				if err != nil {
					fmt.Fprintln(os.Stderr, err)
					os.Exit(1)
				}
				fmt.Println(thread, answer)
			}
		}
		return nil
	}}
}

// held is a lock as one thread uses it, which may take it again.
type held struct {
	again   lock.Backend
	name    string
	lease   time.Duration
	tenures []lock.Tenure
	last    lock.Tenure // of the backend itself
}

func newHeld(b lock.Backend, name string, lease time.Duration) *held {
	h := &held{name: name, lease: lease}
	h.again = lock.Reenter(remembering{b, h})
	return h
}

// remembering is a backend whose last tenure is remembered.
type remembering struct {
	lock.Backend
	held *held
}

func (r remembering) Lock(ctx context.Context, name string) (t lock.Tenure, err error) {
	t, err = r.Backend.Lock(ctx, name)
	r.held.last = t
	return t, err
}

func (r remembering) TryLock(ctx context.Context, name string) (t lock.Tenure, err error) {
	t, err = r.Backend.TryLock(ctx, name)
	r.held.last = t
	return t, err
}

// take takes the lock by an attempt, and says whether it has it.
func (h *held) take(ctx context.Context, attempt func(context.Context, string) (lock.Tenure, error)) (string, error) {
	t, err := attempt(ctx, h.name)
	switch {
	case err == nil:
		h.tenures = append(h.tenures, t)
		return "locked", nil
	case errors.Is(err, lock.ErrLocked) || errors.Is(err, context.DeadlineExceeded):
		return "refused", nil
	}
	return "", err
}

func (h *held) free(ctx context.Context) error {
	last := len(h.tenures) - 1
	t := h.tenures[last]
	h.tenures = h.tenures[:last]
	return t.Unlock(ctx)
}

// obey does what a line asks for, and returns the answer.
func (h *held) obey(words []string) (string, error) {
	ctx := context.Background()
	switch words[0] {
	case "lock":
		return h.take(ctx, h.again.Lock)
	case "try":
		return h.take(ctx, h.again.TryLock)
	case "within":
		millis, err := strconv.Atoi(words[1])
		if err != nil {
			return "", err
		}
		ctx, cancel := context.WithTimeout(ctx, time.Duration(millis)*time.Millisecond)
		defer cancel()
		return h.take(ctx, h.again.Lock)
	case "renew":
		return "renewed", h.last.(lock.Extender).Extend(ctx, h.lease)
	case "token":
		return h.last.Grant().Token.String(), nil
	case "count":
		if _, err := h.take(ctx, h.again.Lock); err != nil {
			return "", err
		}
		data, err := os.ReadFile(words[1])
		if err != nil {
			return "", err
		}
		n, err := strconv.Atoi(string(data))
		if err != nil {
			return "", err
		}
		if err := os.WriteFile(words[1], []byte(strconv.Itoa(n+1)), 0o666); err != nil {
			return "", err
		}
		return "counted", h.free(ctx)
	case "unlock":
		err := h.free(ctx)
		if errors.Is(err, lock.ErrLost) {
			return "lost", nil
		}
		return "unlocked", err
	}
	return "", fmt.Errorf("%q", words)
}
