package etcd

import "github.com/fencelab/fencelab/internal/setting"

// A client can ping a member while something waits for the member's answer, and break the
// connection to one that is silent. The renewals of a lease always wait for an answer. Type
// members looks after silent members as well, but not for the sake of renewals.
const (
	settingKeepAlive        = "keepalive"
	settingKeepAliveTimeout = "keepalive-timeout"
)

var keepAlive = setting.Setting{
	Name: settingKeepAlive, Kind: setting.Time, Default: "0s",
	// gRPC raises what is less than 10 s to 10 s. Members of etcd refuse only pings that
	// come more often than every 5 s.
	Pattern: `^(0s|[1-9][0-9]+s|[1-9][0-9]*m)$`, Want: "0s, or a duration from 10s on, as gRPC pings no more often",
	About: "After how long without a word from a member it pings the member while it waits for an answer, 10s or more (DialKeepAliveTime). 0s: never.",
}

var keepAliveTimeout = setting.Setting{
	Name: settingKeepAliveTimeout, Kind: setting.Time, Default: "20s", Pattern: `^[1-9][0-9]*(ms|s|m)$`,
	About: "For how long it waits for the answer to a ping before it breaks the connection (DialKeepAliveTimeout).",
}
