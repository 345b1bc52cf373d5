package zookeeper

import (
	"github.com/fencelab/fencelab/internal/peers"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/setting"
)

// curator is a program in Java, with Curator itself.
var curator = recipe{
	name: peers.Prefix + "curator", peer: "curator",
	about: "Curator itself, 5.9.0: a client in Java, with an InterProcessMutex. Its release says nothing of a lock that was lost.",
}

// Peer implements service.Peered.
func (Service) Peer(client setting.Values) string { return service.RecipeOf(recipes, client).peer }
