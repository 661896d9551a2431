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
			size(1),
			managed(2, "AWSManagedRulesAmazonIpReputationList"),
			// Its other rules read bodies, or refuse callers without a User-Agent, as many an agent is.
			managed(3, "AWSManagedRulesCommonRuleSet",
				"NoUserAgent_HEADER", "SizeRestrictions_BODY", "EC2MetaDataSSRF_BODY", "GenericLFI_BODY", "GenericRFI_BODY",
				"CrossSiteScripting_BODY",
				// q= of a search may hold anything too.
				"SizeRestrictions_QUERYSTRING", "EC2MetaDataSSRF_QUERYARGUMENTS", "GenericLFI_QUERYARGUMENTS",
				"GenericRFI_QUERYARGUMENTS", "RestrictedExtensions_QUERYARGUMENTS", "CrossSiteScripting_QUERYARGUMENTS"),
		},
		"CustomResponseBodies": map[string]any{
			"throttled": map[string]any{"ContentType": "APPLICATION_JSON",
				"Content": `{"type":"about:blank","title":"Too Many Requests","status":429,"detail":"Too many requests from this address.","code":"a2a.throttled"}`},
			"long": map[string]any{"ContentType": "APPLICATION_JSON",
				"Content": `{"type":"about:blank","title":"Bad Request","status":400,"detail":"The path or the query is too long.","code":"a2a.invalid_request"}`},
		},
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

// The longest that a path and a query may be, in bytes. The longest query of use has a q of 500 characters of four bytes,
// percent-encoded, and a cursor of 600. (Beside that the gateway takes 10,240 bytes of request line and headers and 10 MB of
// body, Lambda 6 MB of JSON, which 4.5 MB of body are in base64, and the contract 4 MB, which the function looks at. WAF sees
// the first 16 to 64 KB of a body and could not.)
const (
	mostPath  = 1_024
	mostQuery = 8_192
)

// size refuses paths and queries that are longer than any of use.
func size(priority int) map[string]any {
	longer := func(part string, than int) map[string]any {
		return map[string]any{"SizeConstraintStatement": map[string]any{
			"FieldToMatch": map[string]any{part: map[string]any{}}, "ComparisonOperator": "GT", "Size": than,
			"TextTransformations": []any{map[string]any{"Priority": 0, "Type": "NONE"}},
		}}
	}
	return map[string]any{
		"Name": "size", "Priority": priority,
		"Action": map[string]any{"Block": map[string]any{
			"CustomResponse": map[string]any{"ResponseCode": 400, "CustomResponseBodyKey": "long"},
		}},
		"Statement": map[string]any{"OrStatement": map[string]any{
			"Statements": []any{longer("UriPath", mostPath), longer("QueryString", mostQuery)},
		}},
		"VisibilityConfig": visible("size"),
	}
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
