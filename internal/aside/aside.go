// Package aside begins something beside what its caller goes on with, and waits for it where it is needed: calls to AWS of
// which none needs the answer of another take as long as one. What is called, and how often again, stays out.
package aside

import (
	"fmt"
	"runtime/debug"
)

// Begin starts do and returns what waits for its end, any number of times. A panic in do is its error, with the stack, so
// that it ends no more than it would on the caller's own goroutine.
func Begin[T any](do func() (T, error)) (wait func() (T, error)) {
	var value T
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() {
			if cause := recover(); cause != nil {
				err = fmt.Errorf("aside: panic: %v\n%s", cause, debug.Stack())
			}
		}()
		value, err = do()
	}()
	return func() (T, error) {
		<-done
		return value, err
	}
}
