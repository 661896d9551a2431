package infra

import "github.com/aws/jsii-runtime-go"

// addFirewall puts a web application firewall before the stage. It looks at addresses, headers, URIs and rates, never
// at bodies: agents may write to each other about SQL, shells and exploits, and a rule that reads a body would refuse them.
func (w *wrap) addFirewall() {
	acl := w.resource("Firewall", "AWS::WAFv2::WebACL", map[string]any{
		"Name": w.named("edge"), "Scope": "REGIONAL",
		"Description":      "The edge of Baton",
		"DefaultAction":    map[string]any{"Allow": map[string]any{}},
		"VisibilityConfig": visible("all"),
		"Rules": []any{
			map[string]any{
				"Name": "rate", "Priority": 0, "Action": map[string]any{"Block": map[string]any{
					"CustomResponse": map[string]any{"ResponseCode": 429, "CustomResponseBodyKey": "throttled",
						"ResponseHeaders": []any{map[string]any{"Name": "Retry-After", "Value": "60"}}},
				}},
				"Statement": map[string]any{"RateBasedStatement": map[string]any{
					"Limit": w.environment.CallsPerIP, "AggregateKeyType": "IP", "EvaluationWindowSec": 300,
				}},
				"VisibilityConfig": visible("rate"),
			},
			managed(1, "AWSManagedRulesAmazonIpReputationList"),
			// Its other rules read bodies, or refuse callers without a User-Agent, as many an agent is.
			managed(2, "AWSManagedRulesCommonRuleSet",
				"NoUserAgent_HEADER", "SizeRestrictions_BODY", "EC2MetaDataSSRF_BODY", "GenericLFI_BODY", "GenericRFI_BODY",
				"CrossSiteScripting_BODY",
				// q= of a search may hold anything too.
				"SizeRestrictions_QUERYSTRING", "EC2MetaDataSSRF_QUERYARGUMENTS", "GenericLFI_QUERYARGUMENTS",
				"GenericRFI_QUERYARGUMENTS", "RestrictedExtensions_QUERYARGUMENTS", "CrossSiteScripting_QUERYARGUMENTS"),
		},
		"CustomResponseBodies": map[string]any{"throttled": map[string]any{
			"ContentType": "APPLICATION_JSON",
			"Content":     `{"type":"about:blank","title":"Too Many Requests","status":429,"detail":"Too many requests from this address.","code":"a2a.throttled"}`,
		}},
	})
	arn := acl.GetAtt(jsii.String("Arn"), "STRING")
	w.resource("FirewallOnStage", "AWS::WAFv2::WebACLAssociation", map[string]any{
		"WebACLArn": arn,
		"ResourceArn": map[string]any{"Fn::Sub": []any{
			"arn:${AWS::Partition}:apigateway:${AWS::Region}::/restapis/${Api}/stages/${Name}",
			// By reference: the association then waits for the stage. SAM puts the stage's own id for Api.Stage.
			map[string]any{"Name": map[string]any{"Ref": "Api.Stage"}},
		}},
	})
	logs := w.logGroup("FirewallLogs", "aws-waf-logs-baton-${Stage}") // the prefix is WAF's wish
	header := func(name string) map[string]any {
		return map[string]any{"SingleHeader": map[string]any{"Name": name}}
	}
	w.resource("FirewallLogging", "AWS::WAFv2::LoggingConfiguration", map[string]any{
		"ResourceArn": arn,
		"LogDestinationConfigs": []any{map[string]any{
			"Fn::Sub": []any{"arn:${AWS::Partition}:logs:${AWS::Region}:${AWS::AccountId}:log-group:${Group}", map[string]any{"Group": logs.Ref()}},
		}},
		"RedactedFields": []any{header("authorization"), header("x-api-key"), map[string]any{"QueryString": map[string]any{}}},
	})
}

// managed is a group of AWS's rules; those in counted only count.
func managed(priority int, name string, counted ...string) map[string]any {
	overrides := []any{}
	for _, rule := range counted {
		overrides = append(overrides, map[string]any{"Name": rule, "ActionToUse": map[string]any{"Count": map[string]any{}}})
	}
	statement := map[string]any{"VendorName": "AWS", "Name": name}
	if len(overrides) > 0 {
		statement["RuleActionOverrides"] = overrides
	}
	return map[string]any{
		"Name": name, "Priority": priority, "OverrideAction": map[string]any{"None": map[string]any{}},
		"Statement":        map[string]any{"ManagedRuleGroupStatement": statement},
		"VisibilityConfig": visible(name),
	}
}

func visible(name string) map[string]any {
	return map[string]any{"SampledRequestsEnabled": false, "CloudWatchMetricsEnabled": true, "MetricName": name}
}
