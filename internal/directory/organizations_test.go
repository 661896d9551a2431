package directory_test

import (
	"errors"
	"testing"

	"baton/internal/directory"
)

// What is verified is a name; only the operator may carry that over to another one.
func TestNewNameIsNotVerified(t *testing.T) {
	type edit = directory.OrganizationEdit
	for name, row := range map[string]struct {
		byOperator bool
		edit       edit
		verified   bool
		err        error
	}{
		"its admin gives it another name":               {edit: edit{Name: new("Bank")}},
		"its admin gives it another name, and says so":  {edit: edit{Name: new("Bank"), Verified: new(false)}},
		"its admin says that the other name is, too":    {edit: edit{Name: new("Bank"), Verified: new(true)}, verified: true, err: directory.ErrForbidden},
		"its admin repeats the name it has":             {edit: edit{Name: new("Shop"), Verified: new(true)}, verified: true},
		"its admin changes something else":              {edit: edit{LegacyEvents: new(true)}, verified: true},
		"its admin takes it back":                       {edit: edit{Verified: new(false)}, verified: true, err: directory.ErrForbidden},
		"the operator gives it another name":            {byOperator: true, edit: edit{Name: new("Bank")}, verified: true},
		"the operator gives it another, unverified one": {byOperator: true, edit: edit{Name: new("Bank"), Verified: new(false)}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			made, err := w.CreateOrganization(t.Context(), w.operator, edit{Name: new("Shop"), Verified: new(true)})
			if err != nil {
				t.Fatal(err)
			}
			by := w.operator
			if !row.byOperator {
				by = directory.Principal{Kind: directory.Org, Organization: made.ID, Role: directory.Admin}
			}
			if _, err := w.EditOrganization(t.Context(), by, made.ID.String(), row.edit); !errors.Is(err, row.err) {
				t.Errorf("got %v, want %v", err, row.err)
			}
			now, err := w.Organization(t.Context(), w.operator, made.ID.String(), directory.ReadOrg)
			if err != nil || now.Verified != row.verified {
				t.Errorf("is %+v (%v), want verified %v", now, err, row.verified)
			}
		})
	}
}
