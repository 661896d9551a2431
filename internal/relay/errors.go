package relay

import (
	"errors"
	"fmt"

	"baton/internal/task"
)

// isUnavailable says whether a later try may succeed.
func isUnavailable(err error) bool { return errors.Is(err, task.ErrUnavailable) }

// errorOf is the error of a panic.
func errorOf(cause any) error { return fmt.Errorf("relay: panic: %v", cause) }
