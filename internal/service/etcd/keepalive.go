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
	About: "How long a member of etcd may be silent, while the client waits for its answer, before the client pings it (DialKeepAliveTime): 10s or more, as gRPC pings no more often. 0s: no pings. The renewals of a lease always wait for answers, all from one member: without pings the renewals stay with that member, however long the member is silent.",
}

var keepAliveTimeout = setting.Setting{
	Name: settingKeepAliveTimeout, Kind: setting.Time, Default: "20s", Pattern: `^[1-9][0-9]*(ms|s|m)$`,
	About: "How long it waits for the answer to a ping (DialKeepAliveTimeout). After that time it breaks the connection, and goes on with another member that it knows.",
}
