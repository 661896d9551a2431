package infra

import (
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/jsii-runtime-go"
)

// isFailureQueue says by its name that a queue holds what could not be done, rather than what is to be done.
func isFailureQueue(id string) bool { return strings.HasPrefix(id, "Failed") }

// queueName is a queue's name, which is not what a reference to it gives.
func (w *wrap) queueName(id string) *string {
	return awscdk.Fn_GetAtt(&id, jsii.String("QueueName")).ToString()
}

// startsBy says whether events of a kind start the function.
func (w *wrap) startsBy(id, kind string) bool {
	return slices.Contains(w.source.Resources[id].events(), kind)
}

// dashed is FailedChangesQueue as "failed-changes", RelayEventsFunction as "relay-events".
func dashed(id string) string {
	var out strings.Builder
	for i, r := range strings.TrimSuffix(strings.TrimSuffix(id, "Queue"), "Function") {
		if unicode.IsUpper(r) && i > 0 {
			out.WriteByte('-')
		}
		out.WriteRune(unicode.ToLower(r))
	}
	return out.String()
}

// camel is "api-5xx" as Api5xx.
func camel(name string) string {
	var out strings.Builder
	for word := range strings.SplitSeq(name, "-") {
		out.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return out.String()
}

// dimensions are a series' dimensions as CloudFormation wants them, in order.
func dimensions(of map[string]any) []any {
	list := []any{}
	for _, name := range slices.Sorted(maps.Keys(of)) {
		list = append(list, map[string]any{"Name": name, "Value": of[name]})
	}
	return list
}

// apiName is the name that CloudWatch knows the API by.
func (w *wrap) apiName() *string { return awscdk.Fn_Sub(jsii.String("baton-${Stage}"), nil) }
