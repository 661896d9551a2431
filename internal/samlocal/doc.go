// Package samlocal runs the functions as sam local does, in containers: each with its sample events, then the main job
// through a local gateway. The tables and buses are those of the local AWS.
//
// It finds a container engine or starts podman's; docs/sam-local.md says what that takes. Only make sam-local uses it.
package samlocal
