package rights

import (
	"maps"
	"slices"

	"baton/internal/localstack"
)

// Judged is a role with what it may do by itself and what it did.
type Judged struct {
	Role   string // the logical id
	Grants []Grant
	Calls  []Call
}

// Judge says of all roles of a stack what is wrong with them, each line beginning with the role's logical id.
func Judge(roles []localstack.Role, calls []Call) (judged []Judged, wrong []string) {
	needed := make([]bool, len(byLambda))
	for _, role := range roles {
		j := Judged{Role: role.LogicalID}
		expected := map[string]bool{}
		for i, row := range byLambda {
			if row.Role != "" && row.Role != role.LogicalID {
				continue
			}
			if !slices.ContainsFunc(role.Policies, func(p localstack.Policy) bool { return p.ByAWS && p.Name == row.Policy }) {
				wrong = append(wrong, j.Role+" lacks "+row.Policy+": "+row.Why)
			}
			needed[i], expected[row.Policy] = true, true
		}
		for _, p := range role.Policies {
			if p.ByAWS {
				if !expected[p.Name] {
					wrong = append(wrong, j.Role+" has "+p.Name+", which Lambda needs for other functions, or none")
				}
				continue
			}
			grants, err := Grants(p.Document)
			if err != nil {
				wrong = append(wrong, j.Role+": "+p.Name+": "+err.Error())
			}
			j.Grants = append(j.Grants, grants...)
		}
		for _, c := range calls {
			if c.Role == role.Name {
				j.Calls = append(j.Calls, c)
			}
		}
		for _, w := range Compare(j.Grants, j.Calls) {
			wrong = append(wrong, j.Role+" "+w)
		}
		judged = append(judged, j)
	}
	for i, row := range byLambda {
		if !needed[i] {
			wrong = append(wrong, row.Role+" is no role that could need "+row.Policy)
		}
	}
	slices.Sort(wrong)
	return judged, slices.Compact(wrong)
}

// Refused are the calls of a stack's roles that were refused, each line beginning with the role's logical id.
func Refused(roles []localstack.Role, calls []Call) (refused []string) {
	for _, role := range roles {
		for _, c := range calls {
			if c.Role == role.Name && !c.Allowed {
				refused = append(refused, role.LogicalID+" "+c.refusal())
			}
		}
	}
	return refused
}

// Unnoticed tries Judge's sharpness on roles that it finds nothing wrong with: each grant taken out of each role, and each
// that any role has, and wider forms of its own, put into each role that does not have it. It returns how many changes it
// tried, and those after which Compare still finds nothing.
func Unnoticed(judged []Judged) (tried int, unnoticed []string) {
	every := map[Grant]bool{}
	for _, j := range judged {
		for _, g := range j.Grants {
			every[g] = true
		}
	}
	for _, j := range judged {
		added := maps.Clone(every)
		for i, g := range j.Grants {
			tried++
			if len(Compare(slices.Delete(slices.Clone(j.Grants), i, i+1), j.Calls)) == 0 {
				unnoticed = append(unnoticed, j.Role+" without "+g.String())
			}
			for _, wider := range []Grant{{g.Action, g.Resource, ""}, {g.Action, "*", g.Key}, {g.Action, g.Resource + "*", g.Key}, {"*", g.Resource, g.Key}, {g.Action, g.Resource, "*"}} {
				added[wider] = true
			}
		}
		for g := range added {
			if slices.Contains(j.Grants, g) {
				continue
			}
			tried++
			if len(Compare(append(slices.Clone(j.Grants), g), j.Calls)) == 0 {
				unnoticed = append(unnoticed, j.Role+" with "+g.String())
			}
		}
	}
	return tried, unnoticed
}
