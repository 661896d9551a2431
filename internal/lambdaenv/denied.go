package lambdaenv

import (
	"context"
	"errors"
	"strings"
	"time"

	"baton/internal/metrics"

	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/middleware"
)

// deniedCall is a log line about a call that AWS refused for want of a right.
type deniedCall struct {
	Level     string `json:"level"`
	Message   string `json:"msg"`
	Service   string `json:"service"`
	Operation string `json:"operation"`
	Cause     string `json:"cause"`
}

// noteDenied has every call measured and logged that the function's role, or a key's policy, does not allow.
//
// To a caller that is the 503 of any call that failed: it will pass once the right is given. But no time mends it, and much
// of what is refused shows nowhere else: a use of a key that isn't noted, a throttle that doesn't count.
func noteDenied(stack *middleware.Stack) error {
	// Innermost, since the steps before it put the names into the context.
	return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("NoteDenied", func(
		ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler,
	) (middleware.InitializeOutput, middleware.Metadata, error) {
		out, metadata, err := next.HandleInitialize(ctx, in)
		var api smithy.APIError
		if errors.As(err, &api) && isDenied(api.ErrorCode()) {
			metrics.Write(time.Now(), deniedCall{
				"ERROR", "a right is missing", middleware.GetServiceID(ctx), middleware.GetOperationName(ctx), err.Error(),
			}, metrics.DeniedCalls.Of(1))
		}
		return out, metadata, err
	}), middleware.After)
}

// isDenied knows the code as services spell it: AccessDenied, AccessDeniedException, KmsAccessDenied.
func isDenied(code string) bool { return strings.Contains(code, "AccessDenied") }
