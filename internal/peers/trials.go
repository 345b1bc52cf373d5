package peers

import (
	"net"

	"github.com/fencelab/fencelab/internal/maven"
	"github.com/fencelab/fencelab/internal/ports"
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
			Arguments: []string{
				"--by=" + Prefix + recipe, "--endpoints=" + nobody, "--storage=http://" + nobody, "--connect-timeout=0s", "--timeout=1s",
				"--name=client1", "--lock=/lock", "--ttl=1s", "--suspended=obeyed", "--token=granted",
			},
			Env: []string{"FENCELAB_JDBC_URL=jdbc:postgresql://" + nobody + "/"},
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
