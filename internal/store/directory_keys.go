package store

import (
	"bytes"
	"encoding/base64"
	"strconv"
	"strings"

	"baton/internal/directory"
	"baton/internal/task"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// The keys of the table directory. The first two characters of a partition say what is in it, so that a function's role
// can be narrowed to what it asks (dynamodb:LeadingKeys).
//
//	O#<organization>  O               the organization
//	                  I#<identity>    one of its identities, by id alone
//	                  K#<key>         one of its keys: the hash under which it is
//	                  N#<kind>        how many identities, handles, or keys it has
//	I#<identity>      I               the identity's profile
//	H#<handle>        H               the same profile again, so that a send reads its target once; under a handle
//	                                  that the identity had before, its id alone
//	K#<hash>          K               a key
//	C#<connection>    C               a connection
//	P#<id>#<id>       P               two identities, the lower id first: their live connection's id and state
//	I#<identity>      A               its access rules
//	                  C#<connection>  one of its connections, by id alone
//	D#<shard>         <identity>      a discoverable agent: what is searched of it
//	J                 <kind>#<id>     work to be done in the background
//	Q#<identity>      by#<seconds>    how many sends it made in the minute that began then
//	                  to#<seconds>    how many it received in the ten seconds that began then
//	                  open            how many of its tasks were open when they were counted, and the sends since
//	Q#<organization>  pending         how many requests for connections its identities have open
//	W#<organization>  <hook>          one of its webhooks
//	U#<key>           U               when it was used last; apart, so that a function that only notes uses can't
//	                                  write keys
const (
	organizationMark = "O#"
	identityMark     = "I#"
	handleMark       = "H#"
	keyMark          = "K#"
	usageMark        = "U#"
	connectionMark   = "C#"
	pairMark         = "P#"
	discoverMark     = "D#"
	jobPartition     = "J"
	ownedMark        = "N#"
	countMark        = "Q#"
)

func organizationKey(id task.ID) dirItem { return dirKey(organizationMark+id.String(), "O") }

func identityKey(id task.ID) dirItem { return dirKey(identityMark+id.String(), "I") }

func handleKey(handle string) dirItem { return dirKey(handleMark+handle, "H") }

func hashKey(h directory.Hash) dirItem {
	return dirKey(keyMark+base64.RawURLEncoding.EncodeToString(h[:]), "K")
}

func connectionKey(id task.ID) dirItem { return dirKey(connectionMark+id.String(), "C") }

// pairKey is the same for both orders.
func pairKey(a, b task.ID) dirItem {
	if bytes.Compare(a[:], b[:]) > 0 {
		a, b = b, a
	}
	return dirKey(pairMark+a.String()+"#"+b.String(), "P")
}

func rulesKey(identity task.ID) dirItem { return dirKey(identityMark+identity.String(), "A") }

func connectedKey(identity, connection task.ID) dirItem {
	return dirKey(identityMark+identity.String(), connectionMark+connection.String())
}

// discoverShards is over how many partitions the discoverable agents are spread: 16 bear 48,000 read units a second.
const discoverShards = 16

func discoverKey(identity task.ID) dirItem {
	return dirKey(discoverPartition(int(identity[15])%discoverShards), identity.String())
}

func discoverPartition(shard int) string { return discoverMark + strconv.Itoa(shard) }

func jobKey(j directory.Job) dirItem {
	return dirKey(jobPartition, string(j.Kind)+"#"+j.About.String())
}

func usageKey(id task.ID) dirItem { return dirKey(usageMark+id.String(), "U") }

// memberKey is where an organization lists one of its identities or keys, by mark.
func memberKey(organization task.ID, mark string, id task.ID) dirItem {
	return dirKey(organizationMark+organization.String(), mark+id.String())
}

// afterMember is the sort key to go on from in such a list, empty for its beginning.
func afterMember(mark string, id task.ID) string {
	if id.IsZero() {
		return ""
	}
	return mark + id.String()
}

// memberID reads the id out of a listed item's key.
func memberID(it dirItem, mark string) (task.ID, bool) {
	s, ok := it["s"].(*types.AttributeValueMemberS)
	if !ok || len(s.Value) < len(mark) {
		return task.ID{}, false
	}
	return task.ParseID(s.Value[len(mark):])
}

func dirKey(p, s string) dirItem { return dirItem{"p": dirText(p), "s": dirText(s)} }

// dirKeyName names an item for the log: a key without its hash.
func dirKeyName(it dirItem) string {
	p := dirTextOf(it["p"])
	if strings.HasPrefix(p, keyMark) {
		p = keyMark + "…"
	}
	return p + " " + dirTextOf(it["s"])
}

// dirKeyText is an item's key as one string.
func dirKeyText(it dirItem) string { return dirTextOf(it["p"]) + "\x00" + dirTextOf(it["s"]) }
