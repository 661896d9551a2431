package localstack

import (
	"context"
	"errors"
	"testing"
)

// What fails after an interrupt says during what it came; any other failure is do's own, the end of the time included.
func TestStepSaysDuringWhatItWasInterrupted(t *testing.T) {
	broken := errors.New("broken")
	step := func(ctx context.Context) error {
		return Step(ctx, "build the functions", func() error { return broken })
	}
	interrupted, stop := context.WithCancel(t.Context())
	stop()
	if err := step(interrupted); err == nil || err.Error() != "interrupted during: build the functions" {
		t.Error(err)
	}
	late, cancel := context.WithTimeout(t.Context(), 0)
	defer cancel()
	for _, ctx := range []context.Context{t.Context(), late} {
		if err := step(ctx); !errors.Is(err, broken) {
			t.Error(err)
		}
	}
}
