package store

import (
	"errors"
	"fmt"

	"baton/internal/task"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
)

// ErrRefused says that storage will never take what it was given, however often it is tried.
var ErrRefused = errors.New("store: refused")

// The codes of a transaction's cancellation reasons that are told apart.
const (
	reasonNone      = "None"
	reasonCondition = "ConditionalCheckFailed"
	reasonConflict  = "TransactionConflict"
)

// isContention says whether a cancellation reason is a matter of the moment: another transaction, or too many.
func isContention(code string) bool {
	switch code {
	case reasonConflict, "ThrottlingError", "ProvisionedThroughputExceeded":
		return true
	}
	return false
}

// cancellation is why each action of a transaction failed, nil when the error is another.
func cancellation(err error) []types.CancellationReason {
	var canceled *types.TransactionCanceledException
	if !errors.As(err, &canceled) {
		return nil
	}
	for i := range canceled.CancellationReasons {
		if canceled.CancellationReasons[i].Code == nil {
			canceled.CancellationReasons[i].Code = new(reasonNone)
		}
	}
	return canceled.CancellationReasons
}

// logError is an SDK's error as the log's callers know it: only what is wrong with the request itself is refused, and
// everything else, missing rights included, passes by itself or by repair.
func logError(what string, organization task.ID, err error) error {
	kind := task.ErrUnavailable
	var api smithy.APIError
	if errors.As(err, &api) && api.ErrorCode() == "ValidationException" {
		kind = ErrRefused
	}
	return fmt.Errorf("store: %s of %s: %w: %w", what, organization, kind, err)
}
