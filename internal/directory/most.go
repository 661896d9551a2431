package directory

// Most is how much one organization may own. Each is counted in an item of the organization's own, in the transaction that
// makes or ends the thing: exactly, without a scan, and no item is written for two organizations.
type Most struct {
	Identities int // that aren't deleted
	Keys       int // that work: neither revoked nor expired
}

// DefaultMost is what the template's parameters begin with: a thousand agents are more than a large organization runs, and
// a second key for each lets all be changed with none out of work. A profile has some kilobytes and stands in three items,
// so that one organization stays below 12 MB of the directory.
var DefaultMost = Most{Identities: 1000, Keys: 2000}

const (
	// MaxHandles is how often an organization may take a handle, by making an agent or by renaming one: what it took stays
	// taken for ever, so without a bound one organization could take all the names there are.
	MaxHandles = 10_000
	// MaxPending is how many requests for connections an organization's agents may have open in all. Who asks so many and
	// is answered by nobody asks at random; each stands in a list that another organization's people read.
	MaxPending = 500
)
