package hazelcast

import "github.com/fencelab/fencelab/internal/clients/java"

// recipe is a way to take a lock: a program in Java, as Hazelcast has no other client here.
type recipe struct{ name, about string }

// recipes are all of them.
var recipes = []*recipe{&fenced}

var fenced = recipe{
	name:  java.Prefix + "hazelcast",
	about: "The FencedLock of Hazelcast 5.4.0, by tryLockAndGetFence. Its token is the fence. Its holder can take it again, and has the same fence.",
}

// Name implements service.Recipe, as the one below does.
func (r *recipe) Name() string { return r.name }

func (r *recipe) About() string { return r.about }
