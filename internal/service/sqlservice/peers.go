package sqlservice

import (
	"maps"
	"net/url"
	"slices"

	"github.com/fencelab/fencelab/internal/peers"
	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/service"
)

// SpringJDBC is a program in Java, with Spring Integration itself.
func SpringJDBC[C any]() Recipe[C] {
	return Recipe[C]{
		ID: peers.Prefix + "spring-jdbc", Shows: NoToken, Peer: "jdbc", ByItsClock: true,
		Text: "A JdbcLockRegistry of Spring Integration itself, 7.0.5: a client in Java, with a new registry for each tenure. It goes by the clock of its JVM. Nothing renews the lock. Who waits asks every 100 ms.",
	}
}

// CheckPeers finds what a client in Java does not know, and what it alone knows.
func CheckPeers[C any](recipes []*Recipe[C], w scenario.World, clients map[string]scenario.Client) *scenario.Conflict {
	for _, name := range slices.Sorted(maps.Keys(clients)) {
		c := clients[name]
		by := service.RecipeOf(recipes, c.Values)
		inNoJVM := peers.CheckOther(name, by.ID, c.Values, peers.Collector) // int-lock has "ahead", too
		switch {
		case by.Peer == "" && inNoJVM != nil:
			return inNoJVM
		case by.Peer != "" && w.Storage.In == scenario.InService:
			return &scenario.Conflict{Client: name, Setting: service.By, Text: by.ID + " is a client in Java, which reaches a storage by HTTP alone: leave \"storage: {in: service}\" out"}
		}
	}
	return nil
}

// JDBC tells a client in Java of a database, by a variable of the environment, which no list
// of processes shows.
func JDBC(driver, addr, path string, user *url.Userinfo, parameters url.Values) string {
	parameters.Set("user", user.Username())
	if password, has := user.Password(); has {
		parameters.Set("password", password)
	}
	return "FENCELAB_JDBC_URL=jdbc:" + driver + "://" + addr + path + "?" + parameters.Encode()
}
