package main

import (
	"regexp"
	"strings"

	"baton/client"
)

// wish is what the requester wants; empty is what it has not said.
type wish struct{ order, amount, currency string }

var (
	orderPattern  = regexp.MustCompile(`(?i)\border\s+(?:no\.?\s*|number\s+)?#?([a-z]*-?\d+)`)
	amountPattern = regexp.MustCompile(`(?i)(\d+(?:[.,]\d{1,2})?)\s*(EUR|USD|GBP)\b`)
)

// read finds the wish in the requester's messages; what was said last counts.
func read(messages []client.Message) (w wish) {
	for _, m := range messages {
		if m.Role != "caller" {
			continue
		}
		text := m.Text()
		if found := orderPattern.FindStringSubmatch(text); found != nil {
			w.order = found[1]
		}
		if found := amountPattern.FindStringSubmatch(text); found != nil {
			w.amount, w.currency = strings.ReplaceAll(found[1], ",", "."), strings.ToUpper(found[2])
		}
	}
	return w
}
