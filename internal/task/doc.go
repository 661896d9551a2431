// Package task is what Baton is about, said without AWS: tasks, their messages
// and states, the rules by which one state follows another, the limits, and
// the service that loads, decides and saves.
//
// Storage, HTTP and JSON tags stay out: wire shapes live in httpapi, item
// shapes in store, so that an API change can't become a migration unnoticed.
package task
