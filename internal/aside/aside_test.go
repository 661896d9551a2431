package aside_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"baton/internal/aside"
)

func TestItRunsBesideItsCaller(t *testing.T) {
	t.Parallel()
	met := make(chan int)
	wait := aside.Begin(func() (int, error) { return <-met, errors.New("an error of its own") })
	select {
	case met <- 42:
	case <-time.After(10 * time.Second):
		t.Fatal("it did not begin")
	}
	for range 2 {
		if value, err := wait(); value != 42 || err == nil {
			t.Errorf("%d, %v", value, err)
		}
	}
}

func TestAPanicIsAnError(t *testing.T) {
	t.Parallel()
	value, err := aside.Begin(func() (int, error) { panic("made by the test") })()
	if value != 0 || err == nil || !strings.Contains(err.Error(), "made by the test") || !strings.Contains(err.Error(), "aside_test.go") {
		t.Errorf("%d, %v", value, err)
	}
}
