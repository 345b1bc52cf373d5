package service

import (
	"context"
	"time"

	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/setting"
	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/lock"
)

// Granted is what a Tenure has by its grant where its owner is the name of both tenure and
// session, and its token is what the client shows.
type Granted struct{ lock.Tenure }

// Name implements Tenure, as Session and Shown do.
func (g Granted) Name() string { return g.Grant().Owner }

func (g Granted) Session() string { return g.Grant().Owner }

func (g Granted) Shown() (token fence.Token, remark string) { return g.Grant().Token, "" }

// Unordered is what Servers have that are no issuer of tokens, and whose account does not tell who waits.
type Unordered struct{}

// IssuerArgs implements Servers, as Position does.
func (Unordered) IssuerArgs() []string { return nil }

func (Unordered) Position(context.Context) (fence.Token, error) { return 0, nil }

// Slack is how long a machine that is busy may take to do what is due.
const Slack = 3 * time.Second

// Leases are bounds for Bounded, where a lock is free when the TTL of its client is over, and late.
func Leases(clients map[string]scenario.Client, late time.Duration) map[string]time.Duration {
	bounds := make(map[string]time.Duration)
	for name, c := range clients {
		bounds[name] = c.Time(setting.TTL) + late
	}
	return bounds
}
