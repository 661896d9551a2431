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
	reasonInvalid   = "ValidationError"
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

// sdkError is an SDK's error as this room's callers know it: of the operation that format and about name, task.ErrUnavailable,
// or ErrRefused for what is wrong with the request itself. Everything else, missing rights included, passes by itself or by
// repair; a write may have been applied all the same. The SDK's own error is told of in the text alone.
func sdkError(err error, format string, about ...any) error {
	kind := task.ErrUnavailable
	if isRefusal(err) {
		kind = ErrRefused
	}
	return fmt.Errorf("store: %s: %w: %v", fmt.Sprintf(format, about...), kind, err)
}

// isRefusal says whether DynamoDB found fault with the request, or with one action of a transaction.
func isRefusal(err error) bool {
	for _, reason := range cancellation(err) {
		if *reason.Code == reasonInvalid {
			return true
		}
	}
	var api smithy.APIError
	return errors.As(err, &api) && api.ErrorCode() == "ValidationException"
}
