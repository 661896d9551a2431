package localaws

import (
	"encoding/base64"
	"encoding/json"
	"math"
	"strings"
)

// readUnits is what a read costs by the sizes of the items that came back. The local AWS says 1 or 0.5 of every call,
// whatever it read; AWS rounds up to 4 KB what a query read in all, and of other calls each item ("DynamoDB read and
// write operations"). ok is false for a call that doesn't return all that it read, such as a count.
func readUnits(operation string, request, answer []byte) (units float64, ok bool) {
	var asked struct {
		ConsistentRead                                 bool
		Select, FilterExpression, ProjectionExpression string
		RequestItems                                   map[string]struct {
			Keys           []json.RawMessage
			ConsistentRead bool
		}
	}
	if json.Unmarshal(request, &asked) != nil || asked.Select == "COUNT" || asked.FilterExpression+asked.ProjectionExpression != "" {
		return 0, false
	}
	switch operation {
	case "Query", "Scan":
		var got struct{ Items []item }
		if json.Unmarshal(answer, &got) != nil {
			return 0, false
		}
		size := 0
		for _, i := range got.Items {
			size += i.size()
		}
		return rate(asked.ConsistentRead) * blocks(size), true
	case "GetItem":
		var got struct{ Item item }
		if json.Unmarshal(answer, &got) != nil {
			return 0, false
		}
		return rate(asked.ConsistentRead) * blocks(got.Item.size()), true
	case "BatchGetItem":
		var got struct {
			Responses       map[string][]item
			UnprocessedKeys map[string]struct{ Keys []json.RawMessage }
		}
		if json.Unmarshal(answer, &got) != nil {
			return 0, false
		}
		for table, wanted := range asked.RequestItems {
			missing := len(wanted.Keys) - len(got.Responses[table]) - len(got.UnprocessedKeys[table].Keys)
			sum := float64(missing) // a key without an item costs the least that there is
			for _, i := range got.Responses[table] {
				sum += blocks(i.size())
			}
			units += rate(wanted.ConsistentRead) * sum
		}
		return units, true
	}
	return 0, false
}

func rate(consistent bool) float64 {
	if consistent {
		return 1
	}
	return 0.5
}

func blocks(bytes int) float64 { return max(1, math.Ceil(float64(bytes)/4096)) }

// item is an item in DynamoDB's JSON.
type item map[string]value

type value map[string]json.RawMessage

// size is an item's size by AWS's rules ("DynamoDB item sizes and formats").
func (i item) size() (n int) {
	for name, v := range i {
		n += len(name) + v.size()
	}
	return n
}

func (v value) size() int {
	for kind, raw := range v {
		switch kind {
		case "S", "N", "B":
			var s string
			json.Unmarshal(raw, &s)
			return scalarSize(kind, s)
		case "SS", "NS", "BS":
			var all []string
			json.Unmarshal(raw, &all)
			n := 0
			for _, s := range all {
				n += scalarSize(kind[:1], s)
			}
			return n
		case "L":
			var all []value
			json.Unmarshal(raw, &all)
			n := 3
			for _, one := range all {
				n += one.size() + 1
			}
			return n
		case "M":
			var all item
			json.Unmarshal(raw, &all)
			return 3 + all.size() + len(all)
		}
	}
	return 1 // NULL and BOOL
}

func scalarSize(kind, s string) int {
	switch kind {
	case "N": // about a byte for two significant digits, and one more
		digits := strings.Trim(strings.ReplaceAll(strings.TrimLeft(s, "-"), ".", ""), "0")
		return (len(digits)+1)/2 + 1
	case "B":
		return base64.StdEncoding.DecodedLen(len(s)) - strings.Count(s, "=")
	}
	return len(s)
}

// ItemSizes are the sizes, by AWS's rules, of the items that a Query or Scan answered.
func (c Call) ItemSizes() (sizes []int) {
	var got struct{ Items []item }
	if json.Unmarshal(c.Answer, &got) != nil {
		return nil
	}
	for _, i := range got.Items {
		sizes = append(sizes, i.size())
	}
	return sizes
}
