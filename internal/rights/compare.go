package rights

import (
	"slices"
	"strings"
)

// Compare says what is wrong with the grants of one role, given all that it asked for: what was refused, what was done
// without a grant, what is granted twice, and what was granted and never used.
func Compare(grants []Grant, calls []Call) (wrong []string) {
	used := map[Grant]bool{}
	for _, c := range calls {
		if !c.Allowed {
			wrong = append(wrong, c.refusal())
			continue
		}
		for _, g := range asked(c) {
			if !slices.Contains(grants, g) {
				wrong = append(wrong, "lacks "+g.String())
			}
			used[g] = true
		}
	}
	have := map[Grant]bool{}
	for _, g := range grants {
		if have[g] || g.Key != "" && slices.Contains(grants, Grant{g.Action, g.Resource, ""}) {
			wrong = append(wrong, "has twice "+g.String())
		}
		have[g] = true
		if !used[g] {
			wrong = append(wrong, "never used "+g.String())
		}
	}
	return wrong
}

// asked are the grants that a call takes, and no more.
func asked(c Call) (grants []Grant) {
	for _, key := range c.Keys {
		grants = append(grants, Grant{c.Action, c.Resource, key})
	}
	if len(c.Keys) == 0 {
		grants = append(grants, Grant{c.Action, c.Resource, ""})
	}
	return grants
}

func (c Call) refusal() string {
	text := "was refused " + Grant{c.Action, c.Resource, ""}.String()
	if len(c.Keys) > 0 {
		text += " with keys " + strings.Join(c.Keys, ", ")
	}
	return text
}
