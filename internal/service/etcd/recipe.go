package etcd

import (
	"fmt"

	"github.com/fencelab/fencelab/internal/clients/java"
	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/scenario/setting"
	"github.com/fencelab/fencelab/internal/service"
)

// recipe is a library by which a client takes its locks.
type recipe struct {
	name, about string
	peer        string // the folder below internal/clients/java of its program; "": this one
}

// recipes are all of them.
var recipes = []*recipe{&inGo, &jetcd}

var (
	inGo = recipe{name: "etcdlock",
		about: "Package etcdlock, or package concurrency as it is where the settings session and look need that."}
	jetcd = recipe{name: java.Prefix + "jetcd", peer: "jetcd",
		about: "jetcd itself, 0.8.6: a client in Java, with a lock of Lock.lock and a lease of its own for each tenure, which Lease.keepAlive renews. The create revision is read from the lock's key after the grant. Its unlock says nothing of a lock that was lost. It has no look: is-owner, no look: first and no token: max, and needs the defaults of session, mode and keepalive."}
)

func (r *recipe) Name() string { return r.name }

func (r *recipe) About() string { return r.about }

// checkRecipe finds what a client's recipe does not have.
func checkRecipe(name string, client setting.Values) *scenario.Conflict {
	by := service.RecipeOf(recipes, client)
	if by.peer == "" {
		return java.CheckOther(name, by.name, client, java.Collector, java.Ahead)
	}
	look := client.Text(setting.Look)
	if client.Text(setting.Session) != sessionOwn || client.Text(setting.Mode) != setting.ModeExclusive || client.Text(setting.Token) == setting.TokenMax ||
		look == lookIsOwner || look == lookFirst || client.Time(settingKeepAlive) > 0 {
		return &scenario.Conflict{Client: name, Setting: service.By, Text: fmt.Sprintf("%s is a client in Java, which has no \"look: %s\", no \"look: %s\" and no \"token: %s\", and nothing else than the defaults of \"session\", \"mode\" and \"keepalive\"", by.name, lookIsOwner, lookFirst, setting.TokenMax)}
	}
	return nil
}
