// Package java holds the clients of scenarios that are in Java: one project of Maven, with a
// folder for the libraries of each kind of lock, and the folder agent, which does for all of them
// what package jvm tells it. The folder hazelcast has the members of Hazelcast, too. The
// folder interop is no client: a test of ours and of these locks needs it.
package java

import "embed"

// FS is the project.
//
//go:embed pom.xml */pom.xml */*.java
var FS embed.FS
