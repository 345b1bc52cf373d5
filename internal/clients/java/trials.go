package java

import (
	"net"
	"net/url"

	"github.com/fencelab/fencelab/internal/clients/maven"
	"github.com/fencelab/fencelab/internal/platform/ports"
)

// trials are how all programs run for a moment: clients of a lock service and a storage that are
// not there, and a member of Hazelcast whose others never come.
func trials() (all []maven.Trial, err error) {
	const here = 2 // so many of the ports are the member's own
	free, err := ports.Free(here + 2)
	if err != nil {
		return nil, err
	}
	nobody := free[here]
	for peer, recipe := range map[string]string{"curator": "curator", Hazelcast: "hazelcast", "jdbc": "spring-jdbc", "jetcd": "jetcd", "redisson": "redisson", "spring": "spring"} {
		all = append(all, maven.Trial{
			Program: client(peer),
			Arguments: []string{url.Values{
				"by": {recipe}, "endpoints": {nobody}, "timeout": {"4000000000"}, "ttl": {"1000000000"}, "suspended": {"obeyed"},
			}.Encode()},
			Input: "id=1&op=reach\nid=2&op=send&method=GET&url=http://" + nobody + "/\n",
			Env:   []string{"FENCELAB_JDBC_URL=jdbc:postgresql://" + nobody + "/"},
		})
	}
	member := maven.Trial{Program: Member, Arguments: []string{"5"}}
	for _, addr := range free {
		_, port, err := net.SplitHostPort(addr)
		if err != nil {
			return nil, err
		}
		member.Arguments = append(member.Arguments, port)
	}
	return append(all, member), nil
}
