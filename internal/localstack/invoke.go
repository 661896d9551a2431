package localstack

import (
	"context"
	"fmt"
	"net/http"
	"strings"
)

// Invoke calls a function of the application by itself, with an event. function is its word: "sweep-directory".
func (s Server) Invoke(ctx context.Context, function string, event []byte) error {
	resources, err := s.Resources(ctx, Baton.Stack)
	if err != nil {
		return err
	}
	var resource string
	for part := range strings.SplitSeq(function, "-") {
		resource += strings.ToUpper(part[:1]) + part[1:]
	}
	path := "/2015-03-31/functions/" + resources[resource+"Function"].ID + "/invocations"
	res, text, err := s.request(ctx, "lambda", http.MethodPost, path, "application/json", event)
	if err != nil {
		return err
	}
	if res.StatusCode != http.StatusOK || res.Header.Get("X-Amz-Function-Error") != "" {
		return fmt.Errorf("invoke %s: %s\n%s", function, res.Status, text)
	}
	return nil
}
