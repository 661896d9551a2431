package store

import (
	"context"
	"encoding/json"
	"fmt"

	"baton/internal/directory"
	"baton/internal/task"
)

type ruleRecord struct {
	Effect       string `json:"effect"`
	Organization string `json:"organization,omitempty"`
	Agent        string `json:"agent,omitempty"`
	Handle       string `json:"handle,omitempty"`
	Verified     *bool  `json:"verified,omitempty"`
}

func rulesItem(identity task.ID, rules []directory.Rule, version int) dirItem {
	records := make([]ruleRecord, len(rules))
	for n, r := range rules {
		records[n] = ruleRecord{Effect: string(r.Effect), Handle: r.Handle, Verified: r.Verified}
		if !r.Organization.IsZero() {
			records[n].Organization = r.Organization.String()
		}
		if !r.Agent.IsZero() {
			records[n].Agent = r.Agent.String()
		}
	}
	return dirRecord(rulesKey(identity), version, records)
}

func parseRules(it dirItem) ([]directory.Rule, error) {
	if it == nil {
		return nil, nil
	}
	var records []ruleRecord
	if err := json.Unmarshal([]byte(dirTextOf(it["j"])), &records); err != nil {
		return nil, fmt.Errorf("store: access rules: malformed: %w", err)
	}
	rules := make([]directory.Rule, len(records))
	for n, r := range records {
		rules[n] = directory.Rule{Effect: directory.Effect(r.Effect), Handle: r.Handle, Verified: r.Verified}
		rules[n].Organization, _ = task.ParseID(r.Organization)
		rules[n].Agent, _ = task.ParseID(r.Agent)
	}
	return rules, nil
}

// Rules implements directory.Store.
func (d *Directory) Rules(ctx context.Context, identity task.ID) ([]directory.Rule, error) {
	it, err := d.get(ctx, rulesKey(identity))
	if err != nil && !isNotFound(err) {
		return nil, err
	}
	return parseRules(it)
}

// SaveRules implements directory.Store.
func (d *Directory) SaveRules(ctx context.Context, was, now directory.Identity, rules []directory.Rule) error {
	return d.saveIdentity(ctx, was, now, d.put(rulesItem(now.ID, rules, now.Version), "", nil))
}

// Relation implements directory.Store.
func (d *Directory) Relation(ctx context.Context, requester, worker task.ID) (connected bool, rules []directory.Rule, err error) {
	items, err := d.getAll(ctx, []dirItem{pairKey(requester, worker), rulesKey(worker)})
	if err != nil {
		return false, nil, err
	}
	rules, err = parseRules(items[1])
	return dirTextOf(items[0]["a"]) == string(directory.Approved), rules, err
}
