package infra

import (
	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/jsii-runtime-go"
)

// parameters are what an installation chooses at its deploy; docs/operations.md tells how. Each has a default that
// stands for "without".
type parameters struct {
	alarmEmail   option
	runbook      *string // URL of docs/runbook.md
	domain       option
	certificate  *string
	zone         option
	key          option
	waiting      option
	relaying     option
	provisioned  option
	archiveDays  option
	domainInZone awscdk.CfnCondition
}

// option is a parameter with the condition that it is given.
type option struct {
	value *string
	given awscdk.CfnCondition
}

// orNothing is the value where the option is given; otherwise the property it stands for is absent.
func (o option) orNothing(value any) any {
	return map[string]any{"Fn::If": []any{*o.given.LogicalId(), value, map[string]any{"Ref": "AWS::NoValue"}}}
}

// or is the option where it is given, and otherwise what stands there without it.
func (o option) or(without any) any {
	return map[string]any{"Fn::If": []any{*o.given.LogicalId(), o.value, without}}
}

func (w *wrap) addParameters() {
	w.parameters = parameters{
		alarmEmail:  w.option("AlarmEmail", "String", "", "Who gets the alarms; empty: nobody, they are on the topic only."),
		runbook:     w.parameter("RunbookUrl", "String", "docs/runbook.md", "Where docs/runbook.md can be read; each alarm links a section.").ValueAsString(),
		domain:      w.option("DomainName", "String", "", "The API's own domain name; empty: the one that AWS gives."),
		certificate: w.parameter("CertificateArn", "String", "", "ACM certificate of DomainName, in this region.").ValueAsString(),
		zone:        w.option("HostedZoneId", "String", "", "Route 53 zone that gets DomainName's record; empty: none."),
		key: w.option("KmsKeyArn", "String", "",
			"Customer managed key for tables, secrets, queues and logs; empty: keys of AWS. docs/operations.md has its policy."),
		waiting: w.option("WaitingConcurrency", "Number", "0",
			"Concurrency reserved for each function that holds calls (waits, streams), which is also its most; 0: none."),
		relaying: w.option("RelayingConcurrency", "Number", "0",
			"Concurrency reserved for each function behind a stream, a queue or a schedule, 2 or more; 0: none."),
		provisioned: w.option("ProvisionedConcurrency", "Number", "0",
			"Instances kept warm of each function that tasks are made, read and answered with; 0: none."),
		archiveDays: w.option("ArchiveDays", "Number", "0", "Days that an EventBridge archive of each bus keeps events; 0: no archives."),
	}
	w.parameters.domainInZone = w.condition("HasDomainInZone", awscdk.Fn_ConditionAnd(w.parameters.domain.given, w.parameters.zone.given))
}

func (w *wrap) parameter(name, kind, without, description string) awscdk.CfnParameter {
	return awscdk.NewCfnParameter(w.Stack, &name, &awscdk.CfnParameterProps{
		Type: &kind, Default: without, Description: &description,
	})
}

func (w *wrap) option(name, kind, without, description string) option {
	value := w.parameter(name, kind, without, description).Value()
	text := awscdk.Token_AsString(value, nil)
	equal := awscdk.Fn_ConditionNot(awscdk.Fn_ConditionEquals(text, without))
	return option{text, w.condition("Has"+name, equal)}
}

func (w *wrap) condition(name string, expression awscdk.ICfnConditionExpression) awscdk.CfnCondition {
	return awscdk.NewCfnCondition(w.Stack, jsii.String(name), &awscdk.CfnConditionProps{Expression: expression})
}
