// Package httpapi is the edge: requests of API Gateway to calls of the domain and back. One wrapper for all endpoints
// (size, key, decoding, panics, the log line), one table of errors, one table of routes, and a file for each endpoint.
//
// It never sees DynamoDB, and decides nothing about tasks or who may: that is task's and directory's.
package httpapi
