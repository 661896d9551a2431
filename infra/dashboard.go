package infra

import (
	"fmt"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/jsii-runtime-go"
)

// addDashboard shows, from top to bottom, what callers see, what becomes of their changes, and what the tables and
// functions say.
func (w *wrap) addDashboard() {
	relay := []measure{}
	for _, id := range w.working() {
		if w.startsBy(id, "DynamoDB") {
			relay = append(relay, measure{"AWS/Lambda", "IteratorAge", map[string]any{"FunctionName": w.ref(id)}, "Maximum"})
		}
	}
	api := map[string]any{"ApiName": w.apiName(), "Stage": w.stage()}
	baton := func(statistic string, names ...string) []measure {
		var all []measure
		for _, name := range names {
			all = append(all, measure{"Baton", name, nil, statistic})
		}
		return all
	}
	var throttles, queues, units []measure
	for _, id := range w.source.ids(tableType) {
		throttles = append(throttles, tableThrottles(w.ref(id), w.source.Resources[id].indexes())...)
		for _, name := range []string{"ConsumedReadCapacityUnits", "ConsumedWriteCapacityUnits"} {
			units = append(units, measure{"AWS/DynamoDB", name, map[string]any{"TableName": w.ref(id)}, "Sum"})
		}
	}
	for _, id := range w.source.ids(queueType) {
		queues = append(queues, measure{"AWS/SQS", "ApproximateNumberOfMessagesVisible", map[string]any{"QueueName": w.queueName(id)}, "Maximum"})
	}
	charts := []struct {
		title    string
		measures []measure
	}{
		{"Calls and their failures", []measure{
			{"AWS/ApiGateway", "Count", api, "Sum"}, {"AWS/ApiGateway", "4XXError", api, "Sum"}, {"AWS/ApiGateway", "5XXError", api, "Sum"}}},
		{"Time to answer (waits included)", []measure{
			{"AWS/ApiGateway", "Latency", api, "p50"}, {"AWS/ApiGateway", "Latency", api, "p99"}}},
		{"Refused: keys, throttles, faults", baton("Sum", "RefusedKeys", "Throttled", "Faults", "DeniedCalls")},
		{"Age of the oldest change not yet told, and of the stream", append(baton("Maximum", "OldestChangeAge"), relay...)},
		{"Changes", baton("Sum", "ChangesRelayed", "ChangesToRetry", "ChangesFailed")},
		{"Buses", append(baton("Sum", "BusEvents", "BusFailures", "BusesGone"), baton("Maximum", "BusEventsWaiting")...)},
		{"Webhook deliveries", baton("Sum", "DeliveriesMade", "DeliveriesFailed", "DeliveriesParked")},
		{"Queues", queues},
		{"Tables: units", units},
		{"Tables: refusals", throttles},
		{"Functions", []measure{
			{"AWS/Lambda", "ConcurrentExecutions", nil, "Maximum"}, {"AWS/Lambda", "Throttles", nil, "Sum"}, {"AWS/Lambda", "Errors", nil, "Sum"}}},
		{"Firewall: refused", []measure{{"AWS/WAFV2", "BlockedRequests",
			map[string]any{"Region": awscdk.Aws_REGION(), "WebACL": w.named("edge"), "Rule": "ALL"}, "Sum"}}},
	}
	widgets := []any{}
	for i, c := range charts {
		widgets = append(widgets, map[string]any{
			"type": "metric", "width": 12, "height": 6, "x": 12 * (i % 2), "y": 6 * (i / 2),
			"properties": map[string]any{
				"title": c.title, "region": awscdk.Aws_REGION(), "view": "timeSeries", "period": 60, "metrics": series(c.measures),
			},
		})
	}
	w.resource("Dashboard", "AWS::CloudWatch::Dashboard", map[string]any{
		"DashboardName": w.named("overview"),
		"DashboardBody": w.ToJsonString(map[string]any{"widgets": widgets}, nil),
	})
	awscdk.NewCfnOutput(w.Stack, jsii.String("DashboardUrl"), &awscdk.CfnOutputProps{
		Value: awscdk.Fn_Sub(jsii.String("https://${AWS::Region}.console.aws.amazon.com/cloudwatch/home?region=${AWS::Region}#dashboards:name=baton-${Stage}-overview"), nil),
	})
}

// series are measures as a dashboard wants them.
func series(measures []measure) []any {
	list := []any{}
	for _, m := range measures {
		row := []any{m.namespace, m.name}
		for _, d := range dimensions(m.dimensions) {
			dimension := d.(map[string]any)
			row = append(row, fmt.Sprint(dimension["Name"]), dimension["Value"])
		}
		list = append(list, append(row, map[string]any{"stat": m.statistic}))
	}
	return list
}
