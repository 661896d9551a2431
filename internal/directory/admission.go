package directory

import "baton/internal/task"

// Effect is what an access rule does.
type Effect string

const (
	Allow Effect = "allow"
	Deny  Effect = "deny"
)

// Rule is one of a worker's access rules: it speaks of the requesters that it matches. Exactly one of Organization,
// Agent and Verified is set.
type Rule struct {
	Effect       Effect
	Organization task.ID
	Agent        task.ID // whose handle was given; the rule stays with the identity when it is renamed
	Handle       string  // as it was given, normalized; for showing only
	Verified     *bool   // requesters whose organization is, or is not, verified
}

// MaxRules is how many access rules a worker may have (contract section 5).
const MaxRules = 100

// Matches says whether the rule speaks of the requester.
func (r Rule) Matches(requester Identity) bool {
	switch {
	case r.Verified != nil:
		return *r.Verified == requester.Organization.Verified
	case !r.Agent.IsZero():
		return r.Agent == requester.ID
	}
	return r.Organization == requester.Organization.ID
}

// Admission is how far the worker's profile alone decides on a requester.
type Admission int

const (
	Refused  Admission = iota // whatever its connections and rules say
	Admitted                  // likewise
	Unsure                    // connections and rules decide; see Admits
)

// Glance decides on a send as far as the two profiles can: contract section 5, "A send is admitted when". A worker
// that doesn't take part refuses all; a requester of its own organization is admitted before any rule is asked.
func Glance(requester, worker Identity) Admission {
	switch {
	case worker.Deleted || worker.Organization.Suspended || !worker.A2AEnabled:
		return Refused
	case requester.Organization.ID == worker.Organization.ID:
		return Admitted
	case worker.Discoverable && !worker.Denies:
		return Admitted
	}
	return Unsure
}

// Admits decides where Glance is unsure, from the worker's rules and whether an approved connection joins the two.
// A deny beats all.
func Admits(requester, worker Identity, connected bool, rules []Rule) bool {
	allowed := worker.Discoverable || connected
	for _, r := range rules {
		if !r.Matches(requester) {
			continue
		}
		if r.Effect == Deny {
			return false
		}
		allowed = true
	}
	return allowed
}
