package infra

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/jsii-runtime-go"
)

// alarm is one condition that somebody must look at. Its name is its section in docs/runbook.md.
type alarm struct {
	name     string
	meaning  string
	measures []measure
	formula  string // of m0, m1 …; "" is the one measure, or the sum of all
	when     when
	rollback bool // new code that makes it ring is taken back
}

// measure is one series of CloudWatch. Without data nothing is wrong: most are only written when something happens.
type measure struct {
	namespace  string
	name       string
	dimensions map[string]any
	statistic  string
}

// when an alarm rings: the value is above in each of so many periods in a row.
type when struct {
	above   float64
	periods int
	seconds int // in a period, over which the statistic is taken
}

// takesNewCodeBack is an alarm's rollback.
const takesNewCodeBack = true

// alarms are the table of all alarms: those of every installation, and a row for each table, stream and queue.
func (w *wrap) alarms() []alarm {
	api := map[string]any{"ApiName": w.apiName(), "Stage": w.stage()}
	one := func(namespace, name string, dimensions map[string]any, statistic string) []measure {
		return []measure{{namespace, name, dimensions, statistic}}
	}
	sum := func(name string) []measure { return one("Baton", name, nil, "Sum") }
	most := func(name string) []measure { return one("Baton", name, nil, "Maximum") }
	ofFunction := func(id, name, statistic string) measure {
		return measure{"AWS/Lambda", name, map[string]any{"FunctionName": w.ref(id)}, statistic}
	}
	waiting := func(queue string) []measure {
		return one("AWS/SQS", "ApproximateNumberOfMessagesVisible", map[string]any{"QueueName": w.queueName(queue)}, "Maximum")
	}
	queues := w.source.ids(queueType)
	streams := slices.DeleteFunc(w.working(), func(id string) bool { return !w.startsBy(id, "DynamoDB") })

	rows := []alarm{
		{"api-5xx", "Callers get answers of the 500s.",
			one("AWS/ApiGateway", "5XXError", api, "Sum"), "", when{5, 2, 60}, takesNewCodeBack},
		{"faults", "Functions answer 500 or 503; the log lines with level ERROR have the causes.",
			sum("Faults"), "", when{5, 2, 60}, takesNewCodeBack},
		// No time mends one, and what is done beside a request fails without a trace in its answer.
		{"denied-calls", "AWS refuses a function's calls: its role, or a key's policy, lacks a right.",
			sum("DeniedCalls"), "", when{0, 1, 60}, takesNewCodeBack},
		// Those that serve requests always answer, so an error is a crash, a time-out, or work behind a stream, a queue or a
		// schedule that failed. Of all functions: an alarm that names one could not take its new code back.
		{"function-errors", "Functions crash, time out, or fail at their work in the background.",
			one("AWS/Lambda", "Errors", nil, "Sum"), "", when{2, 3, 60}, takesNewCodeBack},
		{"throttled-calls", "Lambda refuses to start functions: the account's or a reserved concurrency is used up.",
			one("AWS/Lambda", "Throttles", nil, "Sum"), "", when{0, 3, 60}, false},
		{"refused-keys", "Many calls come with keys that are unknown, expired or revoked.",
			sum("RefusedKeys"), "", when{300, 1, 300}, false},
		{"oldest-change", "A change waits over a minute to be told to those who must know.",
			most("OldestChangeAge"), "", when{60_000, 3, 60}, false},
		// A relay that never starts measures nothing.
		{"relay-silent", "Tasks are sent, and the relay tells of none.",
			[]measure{ofFunction("SendTaskFunction", "Invocations", "Sum"), ofFunction("RelayEventsFunction", "Invocations", "Sum")},
			"IF(FILL(m0, 0) > 20 AND FILL(m1, 0) == 0, 1, 0)", when{0, 5, 60}, false},
		{"bus-failures", "EventBridge refuses events; they wait in the log.",
			sum("BusFailures"), "", when{0, 1, 300}, false},
		{"buses-gone", "An organization's bus was deleted; it is made again and gets what it missed.",
			sum("BusesGone"), "", when{0, 1, 300}, false},
		{"parked-organizations", "An organization's events have waited in its log for a quarter of an hour: it has no bus that takes them.",
			most("BusEventsWaiting"), "", when{0, 3, 300}, false},
		{"delivery-failures", "Webhook deliveries were given up after all their tries.",
			sum("DeliveriesParked"), "", when{0, 1, 300}, false},
	}
	for _, id := range w.source.ids(tableType) {
		rows = append(rows, alarm{"throttled-table-" + strings.ToLower(strings.TrimSuffix(id, "Table")),
			"DynamoDB refuses reads or writes of " + id + " or one of its indexes: a hot partition, or a table that grew too fast.",
			tableThrottles(w.ref(id), w.source.Resources[id].indexes()), "", when{0, 3, 60}, false})
	}
	for _, id := range streams {
		rows = append(rows, alarm{"iterator-age-" + dashed(id), id + " is over a minute behind the table's stream.",
			[]measure{ofFunction(id, "IteratorAge", "Maximum")}, "", when{60_000, 3, 60}, false})
	}
	for _, id := range queues {
		if isFailureQueue(id) {
			rows = append(rows, alarm{"failure-queue-" + dashed(id), id + " holds what could not be done and must be looked at.",
				waiting(id), "", when{0, 1, 60}, false})
		} else {
			rows = append(rows, alarm{"backlog-" + dashed(id), id + " fills faster than it is emptied.",
				waiting(id), "", when{1_000, 3, 300}, false})
		}
	}
	if w.environment.Backups {
		rows = append(rows, alarm{"backup-failed", "A daily or monthly backup of a table failed.",
			one("AWS/Backup", "NumberOfBackupJobsFailed", map[string]any{"BackupVaultName": w.named("tables")}, "Sum"),
			"", when{0, 1, 3600}, false})
	}
	return rows
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
			"ComparisonOperator": "GreaterThanThreshold", "Threshold": a.when.above,
			"EvaluationPeriods": a.when.periods, "TreatMissingData": "notBreaching",
			"AlarmActions": []any{topic.Ref()}, "OKActions": []any{topic.Ref()},
		}
		if len(a.measures) == 1 {
			m := a.measures[0]
			properties["Namespace"], properties["MetricName"], properties["Statistic"] = m.namespace, m.name, m.statistic
			properties["Dimensions"], properties["Period"] = dimensions(m.dimensions), a.when.seconds
		} else {
			properties["Metrics"] = calculated(a)
		}
		made := w.resource("Alarm"+camel(a.name), "AWS::CloudWatch::Alarm", properties)
		if a.rollback {
			rollback = append(rollback, made)
		}
	}
	return rollback
}

// calculated is an alarm's formula; CloudWatch takes up to ten measures in one.
func calculated(a alarm) []any {
	var queries []any
	for i, m := range a.measures {
		queries = append(queries, map[string]any{
			"Id": "m" + strconv.Itoa(i), "ReturnData": false,
			"MetricStat": map[string]any{
				"Stat": m.statistic, "Period": a.when.seconds,
				"Metric": map[string]any{"Namespace": m.namespace, "MetricName": m.name, "Dimensions": dimensions(m.dimensions)},
			},
		})
	}
	return append(queries, map[string]any{
		"Id": "value", "Expression": cmp.Or(a.formula, "SUM(METRICS())"), "Label": a.name, "ReturnData": true,
	})
}
