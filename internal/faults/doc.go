// Package faults makes everything fail that the service stands on, and proves afterwards that nothing was lost, told twice, shown to
// others, left stuck or miscounted. There is nothing in it but tests.
//
// All the functions are there as functions/ wires them: the edge, the services, the relay, the deliveries and the rounds, each
// with a clock and caches of its own, with real SDK clients on the local AWS; what fails does so in these clients'
// transport. Agents talk through them with the public client, retries and all (internal/traffic), while it does.
package faults
