package storetest

import (
	"slices"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Version is the version of the layout that an item of any of the tables says, 0 where it says none. What it is for stands
// at store's schema.
func Version(item map[string]types.AttributeValue) int {
	if v, ok := item["sv"].(*types.AttributeValueMemberN); ok {
		n, _ := strconv.Atoi(v.Value)
		return n
	}
	if packed := packed(item); packed != nil {
		return int(packed.Value[0])
	}
	return 0
}

// Earlier is the item as version 1 of the layout had it.
func Earlier(item map[string]types.AttributeValue) {
	delete(item, "sv")
	if packed := packed(item); packed != nil {
		packed.Value = slices.Concat([]byte{1}, packed.Value[1:])
	}
}

// packed is what a head or a change of a task packs.
func packed(item map[string]types.AttributeValue) *types.AttributeValueMemberB {
	for _, name := range []string{"h", "e"} {
		if b, ok := item[name].(*types.AttributeValueMemberB); ok && len(b.Value) > 0 {
			return b
		}
	}
	return nil
}
