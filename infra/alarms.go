package infra

import (
	"strconv"
	"strings"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/jsii-runtime-go"
)

// alarm is one condition that somebody must look at. Its name is its section in docs/runbook.md.
type alarm struct {
	name     string
	meaning  string
	measures []measure // more than one are added up
	period   int       // seconds
	above    float64
	periods  int  // in a row that it must be so
	rollback bool // new code that makes it ring is taken back
}

// measure is one series of CloudWatch. Without data nothing is wrong: most are only written when something happens.
type measure struct {
	namespace  string
	name       string
	dimensions map[string]any
	statistic  string
}

func (w *wrap) alarms() []alarm {
	api := map[string]any{"ApiName": w.apiName(), "Stage": w.stage()}
	all := []alarm{
		{
			name: "api-5xx", meaning: "Callers get answers of the 500s.",
			measures: []measure{{"AWS/ApiGateway", "5XXError", api, "Sum"}},
			period:   60, above: 5, periods: 2, rollback: true,
		},
		{
			name: "faults", meaning: "Functions answer 500 or 503; the log lines with level ERROR have the causes.",
			measures: []measure{{"Baton", "Faults", nil, "Sum"}},
			period:   60, above: 5, periods: 2, rollback: true,
		},
		{
			// Those that serve requests always answer, so an error is a crash, a time-out, or work behind a stream, a queue
			// or a schedule that failed. Of all functions: an alarm that names one could not take its new code back.
			name: "function-errors", meaning: "Functions crash, time out, or fail at their work in the background.",
			measures: []measure{{"AWS/Lambda", "Errors", nil, "Sum"}},
			period:   60, above: 2, periods: 3, rollback: true,
		},
		{
			name: "throttled-calls", meaning: "Lambda refuses to start functions: the account's or a reserved concurrency is used up.",
			measures: []measure{{"AWS/Lambda", "Throttles", nil, "Sum"}},
			period:   60, above: 0, periods: 3,
		},
		{
			name: "refused-keys", meaning: "Many calls come with keys that are unknown, expired or revoked.",
			measures: []measure{{"Baton", "RefusedKeys", nil, "Sum"}},
			period:   300, above: 300, periods: 1,
		},
		{
			name: "oldest-change", meaning: "A change waits over a minute to be told to those who must know.",
			measures: []measure{{"Baton", "OldestChangeAge", nil, "Maximum"}},
			period:   60, above: 60_000, periods: 3,
		},
		{
			name: "bus-failures", meaning: "EventBridge refuses events; they wait in the log.",
			measures: []measure{{"Baton", "BusFailures", nil, "Sum"}},
			period:   300, above: 0, periods: 1,
		},
		{
			name: "buses-gone", meaning: "An organization's bus was deleted; it is made again and gets what it missed.",
			measures: []measure{{"Baton", "BusesGone", nil, "Sum"}},
			period:   300, above: 0, periods: 1,
		},
		{
			name: "parked-organizations", meaning: "An organization's events have waited in its log for a quarter of an hour: it has no bus that takes them.",
			measures: []measure{{"Baton", "BusEventsWaiting", nil, "Maximum"}},
			period:   300, above: 0, periods: 3,
		},
		{
			name: "delivery-failures", meaning: "Webhook deliveries were given up after all their tries.",
			measures: []measure{{"Baton", "DeliveriesParked", nil, "Sum"}},
			period:   300, above: 0, periods: 1,
		},
	}
	for _, id := range w.source.ids(tableType) {
		all = append(all, alarm{
			name:     "throttled-table-" + strings.ToLower(strings.TrimSuffix(id, "Table")),
			meaning:  "DynamoDB refuses reads or writes of " + id + " or one of its indexes: a hot partition, or a table that grew too fast.",
			measures: tableThrottles(w.ref(id), w.source.Resources[id].indexes()),
			period:   60, above: 0, periods: 3,
		})
	}
	for _, id := range w.working() {
		if w.startsBy(id, "DynamoDB") {
			all = append(all, alarm{
				name: "iterator-age-" + dashed(id), meaning: id + " is over a minute behind the table's stream.",
				measures: []measure{{"AWS/Lambda", "IteratorAge", map[string]any{"FunctionName": w.ref(id)}, "Maximum"}},
				period:   60, above: 60_000, periods: 3,
			})
		}
	}
	for _, id := range w.source.ids(queueType) {
		queue := map[string]any{"QueueName": w.queueName(id)}
		if isFailureQueue(id) {
			all = append(all, alarm{
				name: "failure-queue-" + dashed(id), meaning: id + " holds what could not be done and must be looked at.",
				measures: []measure{{"AWS/SQS", "ApproximateNumberOfMessagesVisible", queue, "Maximum"}},
				period:   60, above: 0, periods: 1,
			})
		}
	}
	if w.environment.Backups {
		all = append(all, alarm{
			name: "backup-failed", meaning: "A daily or monthly backup of a table failed.",
			measures: []measure{{"AWS/Backup", "NumberOfBackupJobsFailed", map[string]any{"BackupVaultName": w.named("tables")}, "Sum"}},
			period:   3600, above: 0, periods: 1,
		})
	}
	return all
}

// tableThrottles are the refusals of a table and its indexes.
func tableThrottles(table *string, indexes []string) []measure {
	var all []measure
	for _, name := range []string{"ReadThrottleEvents", "WriteThrottleEvents"} {
		all = append(all, measure{"AWS/DynamoDB", name, map[string]any{"TableName": table}, "Sum"})
		for _, index := range indexes {
			all = append(all, measure{"AWS/DynamoDB", name,
				map[string]any{"TableName": table, "GlobalSecondaryIndexName": index}, "Sum"})
		}
	}
	return all
}

// addAlarms makes the alarms and the topic they go to, and returns those that take new code back.
func (w *wrap) addAlarms() (rollback []awscdk.CfnResource) {
	topic := w.resource("Alarms", "AWS::SNS::Topic", map[string]any{"TopicName": w.named("alarms")})
	mail := w.resource("AlarmsByMail", "AWS::SNS::Subscription", map[string]any{
		"TopicArn": topic.Ref(), "Protocol": "email", "Endpoint": w.parameters.alarmEmail.value,
	})
	mail.CfnOptions().SetCondition(w.parameters.alarmEmail.given)

	for _, a := range w.alarms() {
		properties := map[string]any{
			"AlarmName": w.named(a.name),
			"AlarmDescription": awscdk.Fn_Join(jsii.String(""), &[]*string{
				jsii.String(a.meaning + " Runbook: "), w.parameters.runbook, jsii.String("#" + a.name),
			}),
			"ComparisonOperator": "GreaterThanThreshold", "Threshold": a.above,
			"EvaluationPeriods": a.periods, "TreatMissingData": "notBreaching",
			"AlarmActions": []any{topic.Ref()}, "OKActions": []any{topic.Ref()},
		}
		if len(a.measures) == 1 {
			m := a.measures[0]
			properties["Namespace"], properties["MetricName"], properties["Statistic"] = m.namespace, m.name, m.statistic
			properties["Dimensions"], properties["Period"] = dimensions(m.dimensions), a.period
		} else {
			properties["Metrics"] = sum(a)
		}
		made := w.resource("Alarm"+camel(a.name), "AWS::CloudWatch::Alarm", properties)
		if a.rollback {
			rollback = append(rollback, made)
		}
	}
	return rollback
}

// sum adds the measures up; CloudWatch takes up to ten in an alarm.
func sum(a alarm) []any {
	var queries []any
	for i, m := range a.measures {
		queries = append(queries, map[string]any{
			"Id": "m" + strconv.Itoa(i), "ReturnData": false,
			"MetricStat": map[string]any{
				"Stat": m.statistic, "Period": a.period,
				"Metric": map[string]any{"Namespace": m.namespace, "MetricName": m.name, "Dimensions": dimensions(m.dimensions)},
			},
		})
	}
	return append(queries, map[string]any{"Id": "all", "Expression": "SUM(METRICS())", "Label": a.name, "ReturnData": true})
}
