package directory

import (
	"fmt"
	"time"
	"unicode/utf8"

	"baton/internal/task"
)

// Organization is a tenant.
type Organization struct {
	ID           task.ID
	Name         string
	Verified     bool
	Suspended    bool
	Purging      bool   // is being deleted with all its data; then it is suspended too
	AWSAccountID string // may put rules for itself on the organization's bus; empty for none
	LegacyEvents bool   // wants a2a.task.updated on its bus and webhooks too
	Bus          Bus
	CreatedAt    time.Time
	Version      int // counts the writes; of no meaning outside
}

// Bus is an organization's EventBridge bus.
type Bus struct {
	Name   string
	ARN    string // empty while pending
	Status BusStatus
}

// BusStatus is how an organization's bus stands.
type BusStatus string

const (
	BusActive  BusStatus = "active"
	BusPending BusStatus = "pending" // the account had no room; made, and sent what it missed, when there is
)

// OrganizationEdit is what may be said of an organization, when it is made or later. Nil fields are left as they are.
type OrganizationEdit struct {
	Name         *string
	Verified     *bool
	AWSAccountID *string // "" for none
	LegacyEvents *bool
	Once         Once // of the making alone
}

const maxName = 100 // code points of an organization's or an agent's display name

// apply returns the organization as the edit leaves it, or an Invalid that names every wrong field.
func (e OrganizationEdit) apply(o Organization) (Organization, error) {
	var bad task.Invalid
	if e.Name != nil {
		if n := utf8.RuneCountInString(*e.Name); n < 1 || n > maxName {
			bad = append(bad, task.FieldError{Field: "name", Message: fmt.Sprintf("has %d characters; it must have 1 to %d", n, maxName)})
		}
		o.Name = *e.Name
	}
	if e.AWSAccountID != nil {
		if *e.AWSAccountID != "" && !isAccount(*e.AWSAccountID) {
			bad = append(bad, task.FieldError{Field: "aws_account_id", Message: "must be the 12 digits of an AWS account"})
		}
		o.AWSAccountID = *e.AWSAccountID
	}
	if e.Verified != nil {
		o.Verified = *e.Verified
	}
	if e.LegacyEvents != nil {
		o.LegacyEvents = *e.LegacyEvents
	}
	if bad != nil {
		return Organization{}, bad
	}
	return o, nil
}

func isAccount(s string) bool {
	for _, c := range s {
		if c < '0' || c > '9' {
			return false
		}
	}
	return len(s) == 12
}
