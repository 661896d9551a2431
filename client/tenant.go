package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"net/url"
)

// SuspendOrganization stops a tenant's keys, within two minutes; its data stays. For the operator.
func (c *Client) SuspendOrganization(ctx context.Context, id string) (Organization, error) {
	return c.moveOrganization(ctx, id, "suspend")
}

// ResumeOrganization lets a suspended tenant's keys work again. For the operator.
func (c *Client) ResumeOrganization(ctx context.Context, id string) (Organization, error) {
	return c.moveOrganization(ctx, id, "resume")
}

// PurgeOrganization begins to delete a tenant with all its data, the tasks of its agents with others too. It can't be taken
// back.
func (c *Client) PurgeOrganization(ctx context.Context, id string) (Organization, error) {
	return c.moveOrganization(ctx, id, "purge")
}

func (c *Client) moveOrganization(ctx context.Context, id, to string) (Organization, error) {
	return answer[Organization](ctx, c, call{method: http.MethodPost, path: path("/v1/organizations/{}/"+to, id)})
}

// Replayed says how far a replay came.
type Replayed struct {
	Sent int   `json:"sent"`
	Next int64 `json:"next_sequence"` // where to go on with another call; 0 when all was sent
}

// Replay puts a span of an organization's log on its bus once more, marked as a replay; both ends are included.
func (c *Client) Replay(ctx context.Context, organizationID string, from, to int64) (Replayed, error) {
	body := map[string]int64{"from_sequence": from, "to_sequence": to}
	return answer[Replayed](ctx, c, call{method: http.MethodPost, path: path("/v1/organizations/{}/replay", organizationID), body: body})
}

// Exported is one record of what is kept of an organization. Type says what Data is: organization, identity, key,
// connection, task, message (of the task before it), event, webhook or delivery (to the webhook before it).
type Exported struct {
	Type string          `json:"type"`
	Data json.RawMessage `json:"data"`
}

// Export walks all that is kept of an organization, page by page. What changes meanwhile may come twice or be missing. It
// ends after the first error.
func (c *Client) Export(ctx context.Context, organizationID string) iter.Seq2[Exported, error] {
	return func(yield func(Exported, error) bool) {
		query := url.Values{}
		for {
			var lines []byte
			do := call{method: http.MethodPost, path: path("/v1/organizations/{}/export", organizationID), query: query}
			if _, _, err := c.do(ctx, do, &lines); err != nil {
				yield(Exported{}, err)
				return
			}
			next, err := records(lines, func(e Exported) bool { return yield(e, nil) })
			if err != nil {
				yield(Exported{}, err)
			}
			if next == "" {
				return
			}
			query.Set("cursor", next)
		}
	}
}

// records tells of the records of one page; next is the cursor of the page that follows, empty when none does or tell
// wants no more.
func records(lines []byte, tell func(Exported) bool) (next string, err error) {
	for line := range bytes.Lines(lines) {
		var e Exported
		if err := json.Unmarshal(line, &e); err != nil {
			return "", fmt.Errorf("baton: export: %w", err)
		}
		switch {
		case e.Type == "end":
			return "", nil
		case e.Type == "next":
			err = json.Unmarshal(e.Data, &next)
			return next, err
		case !tell(e):
			return "", nil
		}
	}
	return "", errors.New("baton: export: the page has no end")
}
