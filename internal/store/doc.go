// Package store keeps tasks, the organizations' event logs and the directory in DynamoDB: keys, items, conditions,
// transactions, queries. Every write carries a condition, and what belongs together is one transaction.
//
// HTTP stays out, and no SDK type or error leaves: callers see the kinds of task and directory.
package store
