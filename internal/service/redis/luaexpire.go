package redis

import (
	"context"
	_ "embed"

	"github.com/redis/go-redis/v9"
)

//go:embed luaexpire.lua
var luaExpireSource string

var luaExpireScript = redis.NewScript(luaExpireSource)

// luaExpire does both steps of setnxExpire in one script.
var luaExpire = recipe{
	name: "lua", shows: noToken,
	about: "SETNX and PEXPIRE in one script.",
	take: func(ctx context.Context, a *attempt) (bool, error) {
		return luaExpireScript.Run(ctx, a.redis, []string{a.lock}, a.owner, a.ttl.Milliseconds()).Bool()
	},
}
