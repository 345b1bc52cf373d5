package kubernetes

import (
	"time"

	"github.com/fencelab/fencelab/internal/scenario/setting"
	"github.com/fencelab/fencelab/internal/service"
)

// recipe is a way to have client-go elect a leader by a Lease. Its code is in the program of clients.
type recipe struct {
	name, about string
	retry       time.Duration // the RetryPeriod, in fifteenths of the TTL
}

var recipes = []*recipe{&election, &noTimeout, &noRelease, &longDeadline}

var (
	election = recipe{name: "leaderelection", retry: 2,
		about: "The leader election of client-go 0.37.2, with ReleaseOnCancel. LeaseDuration is the TTL, RenewDeadline two thirds of it and RetryPeriod two fifteenths, as 15 s, 10 s and 2 s are to each other. A request has half of the RenewDeadline, and a second at least, as NewFromKubeconfig has it. A waiter asks again after one to 2.2 times the RetryPeriod."}
	noTimeout    = recipe{name: "leaderelection-no-timeout", retry: 2, about: "Likewise, and a request has no time limit, which is the default of a rest.Config."}
	noRelease    = recipe{name: "leaderelection-no-release", retry: 2, about: "As leaderelection, without ReleaseOnCancel: nobody releases the Lease, and it is free when it is over."}
	longDeadline = recipe{name: "leaderelection-long-deadline", retry: 5,
		about: "As leaderelection-no-release, with other times: RenewDeadline is 14 fifteenths of the TTL, and RetryPeriod 5. client-go takes these times, and they add up to more than the LeaseDuration."}
)

func (r *recipe) Says() (name, about string) { return r.name, r.about }

const (
	tokenVersion     = "resource-version"
	tokenTransitions = "transitions"
	tokenAcquireTime = "acquire-time"

	lookOwner    = "owner"
	lookAcquired = "acquired"
)

var clientSettings = []setting.Setting{
	service.ByRecipe(recipes, &election),
	{Name: setting.Token, Default: tokenVersion, Of: []string{tokenVersion, tokenTransitions, tokenAcquireTime},
		About: "The number that the client shows as its token. resource-version: the resourceVersion with which the Lease named it as the holder. transitions: leaseTransitions of the Lease then, and one. acquire-time: acquireTime, in microseconds since 1970, which is the time by its own clock."},
	setting.LookOf("session: whether client-go has called OnStoppedLeading. acquired: it asks client-go (IsLeader). owner: it reads the Lease.", lookAcquired, lookOwner),
}
