// Package system holds the tests of the whole: the deployed stack, spoken to over HTTP as any user would, with the
// public client or byte by byte. There is nothing in it but tests.
package system
