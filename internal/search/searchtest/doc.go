// Package searchtest makes random messages and queries, and says by the plainest
// means which texts a query finds, so that the real search can be compared with
// it: in package search word by word, in the store task by task.
//
// Only tests import it, and it imports nothing of ours.
package searchtest
