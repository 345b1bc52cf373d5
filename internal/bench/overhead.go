package main

import "fmt"

// overheadConns are the numbers of connections at which one write a request is
// compared.
var overheadConns = []int{1, 16, 64}

// overhead compares one fenced write a request, in memory, with a handler that
// does nothing.
func (b *bench) overhead() error {
	ours, err := b.storage()
	if err != nil {
		return err
	}
	noop, err := b.noop(roleNoop)
	if err != nil {
		return err
	}
	bare, err := b.noop(roleBare)
	if err != nil {
		return err
	}
	t := b.report.table("One write a request, in memory",
		"A PUT with a token to 1,000 keys, each its own lock, and the same request to a net/http handler that only answers 204: in a server with the storage's timeouts, and in a bare one that would wait for a slow client for ever. *of no-op*: the rate as a part of that of the no-op handler with timeouts, of the same round. *by processor time*: the same, by the time that server and client took on the processor, which other work on the machine changes less.",
		"connections", "", "requests/s", "of no-op", "by processor time", "processor time a request of server, client")
	for _, conns := range overheadConns {
		results, err := b.raceLoads(conns,
			rival{"storage", ours, put(fewKeys, 1)},
			rival{"no-op", noop, put(fewKeys, 1)},
			rival{"no-op, no timeouts", bare, put(fewKeys, 1)})
		if err != nil {
			return err
		}
		reference := results[1]
		t.compare(conns, results, reference)
		b.report.firmGoal(fmt.Sprintf("in memory, one write a request, connections: %d; rate of a no-op handler's", conns), 0.95, ratios(results[0].rates, reference.rates))
	}
	return stop(ours, noop, bare)
}
