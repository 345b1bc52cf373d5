package main

import (
	"context"
	"errors"
	"os"

	"github.com/redis/go-redis/v9"
)

// nodes are clients of each node of Redis. The environment has their URL, if they were there already: the arguments of a
// process are for all to see. Where they are, is an argument.
type nodes []*redis.Client

// connect connects with each node. With eachBounded a context cuts off a request that is under way.
func connect(s settings, eachBounded bool) (all nodes, err error) {
	for _, addr := range s.endpoints {
		options := new(redis.Options)
		if url := os.Getenv("FENCELAB_REDIS_URL"); url != "" {
			if options, err = redis.ParseURL(url); err != nil {
				return nil, err
			}
		}
		options.Addr, options.ReadTimeout, options.ContextTimeoutEnabled = addr, s.timeout, eachBounded
		all = append(all, redis.NewClient(options))
	}
	return all, nil
}

func (all nodes) reach(ctx context.Context) error {
	for _, node := range all {
		if err := node.Ping(ctx).Err(); err != nil {
			return err
		}
	}
	return nil
}

func (all nodes) close() (err error) {
	for _, node := range all {
		err = errors.Join(err, node.Close())
	}
	return err
}
