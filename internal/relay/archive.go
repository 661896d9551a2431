package relay

import (
	"context"
	"errors"
	"fmt"

	"baton/internal/directory"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge/types"
)

// Archiving is a maker that also gives each bus an EventBridge archive, which keeps its events for that many days; with
// 0 days it is m itself. An archive that can't be made leaves the bus pending, so that there is none without.
func (m *Maker) Archiving(days int) *Maker {
	with := *m
	with.archiveDays = int32(days)
	return &with
}

// archive makes the archive of an organization's bus or finds it made. It has the organization's id as its name, since a
// bus's name is longer than the 48 characters that an archive's may have.
func (m *Maker) archive(ctx context.Context, o directory.Organization, bus string) error {
	if m.archiveDays <= 0 {
		return nil
	}
	_, err := m.client.CreateArchive(ctx, &eventbridge.CreateArchiveInput{
		ArchiveName: aws.String(o.ID.String()), EventSourceArn: &bus, RetentionDays: &m.archiveDays,
		Description: &o.Bus.Name,
	})
	var exists *types.ResourceAlreadyExistsException
	if err != nil && !errors.As(err, &exists) {
		return fmt.Errorf("relay: make archive of bus: %w", err)
	}
	return nil
}
