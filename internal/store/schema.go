package store

import (
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// The versions of the layout of items, which every item says: heads and changes of tasks in the first byte of what they
// pack, all others in an attribute.
//
//	1  heads and changes say 1, the others nothing
//	2  all say 2; nothing else differs
//
// Items of every version from oldestSchema on are read, and written anew in the version of now by the next write that they
// get. docs/operations.md, "Change the layout of items", says how another is made.
const (
	schema       = 2
	oldestSchema = 1
	attrSchema   = "sv"
)

// stamp makes the item say its version, and returns it.
func stamp(item map[string]types.AttributeValue) map[string]types.AttributeValue {
	item[attrSchema] = number(schema)
	return item
}

// known is nil for an item that stamp has marked in a version that is read here. One of a later version is another code's,
// which knows what is in it: to read it as ours would lose that.
func known(item map[string]types.AttributeValue) error {
	version := int64(oldestSchema)
	if v, said := item[attrSchema]; said {
		version = dirNumberOf(v)
	}
	return knownVersion(uint64(version))
}

// knownVersion is nil for a version that is read here.
func knownVersion(version uint64) error {
	if oldestSchema <= version && version <= schema {
		return nil
	}
	return fmt.Errorf("layout %d, and %d to %d are known", version, oldestSchema, schema)
}
