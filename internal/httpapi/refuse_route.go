package httpapi

import (
	"context"
	"slices"
	"strings"

	"github.com/aws/aws-lambda-go/events"
)

// RefuseRoute serves what no other endpoint does: 405 where the path has other methods, and 404 otherwise. It asks for
// no key: what routes there are is no secret.
func RefuseRoute(e *Edge) Handler {
	return func(_ context.Context, r events.APIGatewayProxyRequest) (events.APIGatewayProxyResponse, error) {
		record := e.begin("refuse-route", r)
		refused := refusal{status: 404, code: codeNotFound, detail: "There is no such route."}
		if methods := methodsOf(r.Path); methods != nil {
			refused = refusal{
				status: 405, code: codeMethod, detail: "The route has other methods.",
				header: map[string]string{"Allow": strings.Join(methods, ", ")},
			}
		}
		return e.finish(problemOf(refused), record), nil
	}
}

// methodsOf are the methods that a path has, nil when it is none of ours. A literal step wins over a parameter, as it
// does in the gateway.
func methodsOf(path string) (methods []string) {
	steps := strings.Split(path, "/")
	literal := -1
	for _, r := range Routes {
		n, ok := fits(strings.Split(r.Path, "/"), steps)
		if !ok || n < literal {
			continue
		}
		if n > literal {
			literal, methods = n, nil
		}
		if !slices.Contains(methods, r.Method) {
			methods = append(methods, r.Method)
		}
	}
	slices.Sort(methods)
	return methods
}

// fits says whether a path is one of a pattern, and how many steps they share literally.
func fits(pattern, path []string) (literal int, ok bool) {
	if len(pattern) != len(path) {
		return 0, false
	}
	for i, step := range pattern {
		switch {
		case step == path[i]:
			literal++
		case strings.HasPrefix(step, "{") && path[i] != "":
		default:
			return 0, false
		}
	}
	return literal, true
}
