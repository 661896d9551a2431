// Package demo is the main job of the service as a program that shows it: two organizations, three agents, and a
// task that an EventBridge rule hands to a worker Lambda, which asks something back and completes it.
//
// It uses what any user has: the public client, and the operator's key. Whole-system tests start from the same world.
package demo
