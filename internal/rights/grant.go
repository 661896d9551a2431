package rights

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Grant is one permission of a role: an action on a resource, with partition keys of one kind, "" for all.
type Grant struct {
	Action, Resource, Key string
}

func (g Grant) String() string {
	if g.Key == "" {
		return g.Action + " on " + g.Resource
	}
	return g.Action + " on " + g.Resource + " with keys " + g.Key
}

// Grants are the permissions of a policy document: one for each action, resource and kind of key of each statement. What
// can't be judged here is an error: whatever denies, excepts, or has other conditions than on the partition key.
func Grants(document string) (grants []Grant, err error) {
	var policy struct {
		Statement []struct {
			Effect           string
			Action, Resource oneOrMore
			Condition        map[string]map[string]oneOrMore
		}
	}
	d := json.NewDecoder(strings.NewReader(document))
	if err := d.Decode(&policy); err != nil {
		return nil, fmt.Errorf("%w in %s", err, document)
	}
	for _, s := range policy.Statement {
		keys := oneOrMore{""}
		if len(s.Condition) > 0 {
			keys = s.Condition["ForAllValues:StringLike"]["dynamodb:LeadingKeys"]
		}
		if s.Effect != "Allow" || len(s.Action) == 0 || len(s.Resource) == 0 || len(keys) == 0 || len(s.Condition) > 1 ||
			len(slices.Collect(maps.Keys(s.Condition["ForAllValues:StringLike"]))) > 1 {
			return nil, fmt.Errorf("a statement of a kind that is not known here: %+v", s)
		}
		for _, action := range s.Action {
			for _, resource := range s.Resource {
				for _, key := range keys {
					grants = append(grants, Grant{action, resource, key})
				}
			}
		}
	}
	return grants, nil
}

// oneOrMore is a list, which policies write as its one item where it has no more.
type oneOrMore []string

func (l *oneOrMore) UnmarshalJSON(text []byte) error {
	if strings.HasPrefix(string(text), "[") {
		return json.Unmarshal(text, (*[]string)(l))
	}
	*l = oneOrMore{""}
	return json.Unmarshal(text, &(*l)[0])
}
