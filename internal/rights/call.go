package rights

import (
	"bufio"
	"encoding/json"
	"os"
	"regexp"
)

// Call is one thing that a role asked of AWS, each noted once.
type Call struct {
	Role     string   `json:"role"`
	Action   string   `json:"action"`   // of a transaction, that of each item
	Resource string   `json:"resource"` // an ARN; an organization's bus and its rules up to the organization's id, then *
	Keys     []string `json:"keys"`     // the kinds of partition keys of text: "K#*"; none for other tables and for indexes
	Allowed  bool     `json:"allowed"`
}

// ofOne is a name up to the id of what was made at run time.
var ofOne = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}.*`)

// ReadCalls reads calls.jsonl.
func ReadCalls(path string) (calls []Call, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		var c Call
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			return nil, err
		}
		c.Resource = ofOne.ReplaceAllString(c.Resource, "*")
		calls = append(calls, c)
	}
	return calls, lines.Err()
}
