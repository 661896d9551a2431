package httpapi

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"time"

	"baton/internal/directory"
	"baton/internal/task"
	"baton/internal/webhook"

	"github.com/go-json-experiment/json"
)

// Exporter reads out an organization; directory.Exporter implements it.
type Exporter interface {
	From(ctx context.Context, organization task.ID, after []byte) iter.Seq2[directory.Exported, error]
}

// lines is a body of newline-delimited JSON, which goes out as it is.
type lines []byte

const (
	// mostExported is when an answer is long enough: with one more message it still fits as text, which may take twice the
	// room inside of what Lambda is given.
	mostExported = 2_000_000
	// exportedFor is when it took long enough.
	exportedFor = 15 * time.Second
)

type exportLine struct {
	Type string `json:"type"`
	Data any    `json:"data"`
}

type exportedIdentityWire struct {
	*identityWire
	Deleted bool       `json:"deleted"`
	Rules   []ruleWire `json:"rules"`
}

type exportedMessageWire struct {
	TaskID string `json:"task_id"`
	messageWire
}

// ExportOrganization serves the endpoint export-organization: lines of JSON, each with the type and the data of one
// record. Where there is more, the last line has the type "next" and the cursor to go on with, which the header
// Next-Cursor has too; otherwise it has the type "end".
func ExportOrganization(e *Edge, organizations Organizations, exporter Exporter) Handler {
	return e.handler("export-organization", func(c *call) (answer, error) {
		if err := c.ownOrganization(); err != nil {
			return answer{}, err
		}
		p := c.params("cursor")
		list := c.listName(task.ID{})
		after := c.position(p, list)
		if err := p.err(); err != nil {
			return answer{}, err
		}
		if err := c.noBody(); err != nil {
			return answer{}, err
		}
		o, err := organizations.Organization(c, c.principal, c.organizationID(), c.route.Right)
		if err != nil {
			return answer{}, err
		}
		header := map[string]string{"Content-Type": "application/x-ndjson"}
		var body lines
		began := c.edge.Now()
		for exported, err := range exporter.From(c, o.ID, after) {
			if err != nil {
				return answer{}, err
			}
			if body, err = body.add(exportLineOf(exported.Record)); err != nil {
				return answer{}, err
			}
			if len(body) > mostExported || c.edge.Now().Sub(began) > exportedFor {
				cursor := c.seal(exported.Next, list)
				header["Next-Cursor"] = *cursor
				body, err = body.add(exportLine{"next", cursor})
				return answer{status: http.StatusOK, header: header, body: body}, err
			}
		}
		body, err = body.add(exportLine{"end", nil})
		return answer{status: http.StatusOK, header: header, body: body}, err
	})
}

func (l lines) add(line exportLine) (lines, error) {
	text, err := json.Marshal(line, json.FormatNilSliceAsNull(true))
	if err != nil {
		return l, fmt.Errorf("httpapi: export: %w", err)
	}
	return append(append(l, text...), '\n'), nil
}

func exportLineOf(record any) exportLine {
	switch r := record.(type) {
	case directory.Organization:
		return exportLine{"organization", organizationOf(r)}
	case directory.ExportedIdentity:
		return exportLine{"identity", exportedIdentityWire{identityOf(r.Identity), r.Deleted, rulesOf(r.Rules).Rules}}
	case directory.Key:
		return exportLine{"key", keyOf(r)}
	case directory.Connection:
		return exportLine{"connection", connectionOf(r)}
	case task.Task:
		return exportLine{"task", itemWire(r)}
	case directory.ExportedMessage:
		return exportLine{"message", exportedMessageWire{r.Task.String(), messagesWire([]task.Message{r.Message})[0]}}
	case task.Event:
		return exportLine{"event", eventWire(r)}
	case webhook.Hook:
		return exportLine{"webhook", webhookOf(r)}
	case webhook.Delivery:
		return exportLine{"delivery", deliveryOf(r)}
	}
	panic(fmt.Sprintf("httpapi: export of a %T", record))
}
