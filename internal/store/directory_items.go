package store

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"baton/internal/directory"
	"baton/internal/task"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// dirItem is an item of the table directory. What is only carried is one JSON text (j); what conditions, projections or
// the time-to-live ask for has an attribute of its own: v the version, i the identity that a former handle leads to, h
// the hash of a listed key, u when a key was used last in milliseconds, x when an item may go in seconds.
type dirItem = map[string]types.AttributeValue

type organizationRecord struct {
	ID           string `json:"id"`
	Name         string `json:"name"`
	Verified     bool   `json:"verified,omitempty"`
	Suspended    bool   `json:"suspended,omitempty"`
	Purging      bool   `json:"purging,omitempty"`
	AWSAccountID string `json:"account,omitempty"`
	LegacyEvents bool   `json:"legacy,omitempty"`
	BusName      string `json:"bus,omitempty"`
	BusARN       string `json:"arn,omitempty"`
	BusStatus    string `json:"busStatus,omitempty"`
	CreatedAt    int64  `json:"created"`
}

func organizationItem(o directory.Organization) dirItem {
	return dirRecord(organizationKey(o.ID), o.Version, organizationRecord{
		o.ID.String(), o.Name, o.Verified, o.Suspended, o.Purging, o.AWSAccountID, o.LegacyEvents,
		o.Bus.Name, o.Bus.ARN, string(o.Bus.Status), dirMillis(o.CreatedAt),
	})
}

func parseOrganization(it dirItem) (directory.Organization, error) {
	var r organizationRecord
	version, err := parseRecord(it, &r)
	id, ok := task.ParseID(r.ID)
	if err != nil || !ok {
		return directory.Organization{}, malformed("organization", r.ID, err)
	}
	return directory.Organization{
		ID: id, Name: r.Name, Verified: r.Verified, Suspended: r.Suspended, Purging: r.Purging, AWSAccountID: r.AWSAccountID,
		LegacyEvents: r.LegacyEvents, CreatedAt: dirTime(r.CreatedAt), Version: version,
		Bus: directory.Bus{Name: r.BusName, ARN: r.BusARN, Status: directory.BusStatus(r.BusStatus)},
	}, nil
}

type identityRecord struct {
	ID           string        `json:"id"`
	Organization string        `json:"organization"`
	Suspended    bool          `json:"suspended,omitempty"` // the organization
	Handle       string        `json:"handle"`
	DisplayName  string        `json:"name,omitempty"`
	Description  string        `json:"description,omitempty"`
	A2AEnabled   bool          `json:"a2a,omitempty"`
	Discoverable bool          `json:"discoverable,omitempty"`
	Deduplicate  bool          `json:"deduplicate,omitempty"`
	Denies       bool          `json:"denies,omitempty"`
	Deleted      bool          `json:"deleted,omitempty"`
	Made         string        `json:"made,omitempty"`
	Skills       []skillRecord `json:"skills,omitempty"`
	CreatedAt    int64         `json:"created"`
	UpdatedAt    int64         `json:"updated"`
}

type skillRecord struct {
	ID          string   `json:"id"`
	Name        string   `json:"name"`
	Description string   `json:"description,omitempty"`
	Tags        []string `json:"tags,omitempty"`
	Examples    []string `json:"examples,omitempty"`
}

// identityItem is the profile under one of its keys, by id or by handle.
func identityItem(key dirItem, i directory.Identity) dirItem {
	r := identityRecord{
		ID: i.ID.String(), Organization: i.Organization.ID.String(), Suspended: i.Organization.Suspended,
		Handle: i.Handle, DisplayName: i.DisplayName, Description: i.Description,
		A2AEnabled: i.A2AEnabled, Discoverable: i.Discoverable, Deduplicate: i.DeduplicateMessages,
		Denies: i.Denies, Deleted: i.Deleted, Made: i.Made, CreatedAt: dirMillis(i.CreatedAt), UpdatedAt: dirMillis(i.UpdatedAt),
	}
	for _, s := range i.Skills {
		r.Skills = append(r.Skills, skillRecord(s))
	}
	return dirRecord(key, i.Version, r)
}

func parseIdentity(it dirItem) (directory.Identity, error) {
	var r identityRecord
	version, err := parseRecord(it, &r)
	id, ok := task.ParseID(r.ID)
	organization, ok2 := task.ParseID(r.Organization)
	if err != nil || !ok || !ok2 {
		return directory.Identity{}, malformed("identity", r.ID, err)
	}
	i := directory.Identity{
		ID: id, Organization: directory.Organization{ID: organization, Suspended: r.Suspended},
		Handle: r.Handle, DisplayName: r.DisplayName, Description: r.Description,
		A2AEnabled: r.A2AEnabled, Discoverable: r.Discoverable, DeduplicateMessages: r.Deduplicate,
		Denies: r.Denies, Deleted: r.Deleted, Made: r.Made, CreatedAt: dirTime(r.CreatedAt), UpdatedAt: dirTime(r.UpdatedAt), Version: version,
	}
	for _, s := range r.Skills {
		i.Skills = append(i.Skills, directory.Skill(s))
	}
	return i, nil
}

type keyRecord struct {
	ID           string `json:"id"`
	Kind         string `json:"kind"`
	Organization string `json:"organization,omitempty"`
	Identity     string `json:"identity,omitempty"`
	Role         string `json:"role,omitempty"`
	Hint         string `json:"hint"`
	CreatedAt    int64  `json:"created"`
	ExpiresAt    int64  `json:"expires,omitempty"`
	RevokedAt    int64  `json:"revoked,omitempty"`
}

// keyKept is how long an expired key is still listed.
const keyKept = 90 * 24 * time.Hour

func keyItem(k directory.Key, version int) dirItem {
	r := keyRecord{
		ID: k.KeyID.String(), Kind: string(k.Kind), Role: string(k.Role), Hint: k.Hint,
		CreatedAt: dirMillis(k.CreatedAt), ExpiresAt: dirMillis(k.ExpiresAt), RevokedAt: dirMillis(k.RevokedAt),
	}
	if !k.Organization.IsZero() {
		r.Organization = k.Organization.String()
	}
	if !k.Identity.IsZero() {
		r.Identity = k.Identity.String()
	}
	return expiring(k, dirRecord(hashKey(k.Hash), version, r))
}

// expiring marks an item of a key for removal some time after the key expires.
func expiring(k directory.Key, it dirItem) dirItem {
	if !k.ExpiresAt.IsZero() {
		it[attrExpires] = dirNumber(k.ExpiresAt.Add(keyKept).Unix())
	}
	return it
}

func parseKey(it dirItem, hash directory.Hash) (k directory.Key, version int, err error) {
	var r keyRecord
	if version, err = parseRecord(it, &r); err != nil {
		return directory.Key{}, 0, malformed("key", r.ID, err)
	}
	k = directory.Key{
		Principal: directory.Principal{Kind: directory.Kind(r.Kind), Role: directory.Role(r.Role)}, Hash: hash, Hint: r.Hint,
		CreatedAt: dirTime(r.CreatedAt), ExpiresAt: dirTime(r.ExpiresAt), RevokedAt: dirTime(r.RevokedAt),
	}
	k.KeyID, _ = task.ParseID(r.ID)
	k.Organization, _ = task.ParseID(r.Organization)
	k.Identity, _ = task.ParseID(r.Identity)
	return k, version, nil
}

// dirRecord is an item with what is carried as JSON.
func dirRecord(key dirItem, version int, record any) dirItem {
	raw, err := json.Marshal(record)
	if err != nil {
		panic(err) // strings, numbers and booleans only
	}
	key["j"], key["v"] = dirText(string(raw)), dirNumber(int64(version))
	return key
}

func parseRecord(it dirItem, record any) (version int, err error) {
	if err := known(it); err != nil {
		return 0, err
	}
	if err := json.Unmarshal([]byte(dirTextOf(it["j"])), record); err != nil {
		return 0, err
	}
	return int(dirNumberOf(it["v"])), nil
}

// malformed says that an item of the directory is none that this code wrote. err may be nil.
func malformed(what, id string, err error) error {
	if err == nil {
		return fmt.Errorf("store: %s %q: malformed", what, id)
	}
	return fmt.Errorf("store: %s %q: malformed: %w", what, id, err)
}

func dirText(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

func dirTextOf(v types.AttributeValue) string {
	if s, ok := v.(*types.AttributeValueMemberS); ok {
		return s.Value
	}
	return ""
}

func dirNumber(n int64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}
}

func dirNumberOf(v types.AttributeValue) int64 {
	if s, ok := v.(*types.AttributeValueMemberN); ok {
		n, _ := strconv.ParseInt(s.Value, 10, 64)
		return n
	}
	return 0
}

// dirMillis is a time in milliseconds, 0 for none.
func dirMillis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

func dirTime(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}
