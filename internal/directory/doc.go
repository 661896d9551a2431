// Package directory is who is who and who may: organizations, identities, keys, and the rules by which one may act,
// see and send. It holds the rules and the thin service over them; how they are stored is store's matter, how they
// are asked is httpapi's.
package directory
