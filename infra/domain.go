package infra

import "github.com/aws/jsii-runtime-go"

// addDomain serves the API under the installation's own name, where one is given.
func (w *wrap) addDomain() {
	p := w.parameters
	domain := w.resource("Domain", "AWS::ApiGateway::DomainName", map[string]any{
		"DomainName": p.domain.value, "RegionalCertificateArn": p.certificate,
		"EndpointConfiguration": map[string]any{"Types": []any{"REGIONAL"}}, "SecurityPolicy": "TLS_1_2",
	})
	domain.CfnOptions().SetCondition(p.domain.given)
	mapping := w.resource("DomainMapping", "AWS::ApiGateway::BasePathMapping", map[string]any{
		"DomainName": domain.Ref(), "RestApiId": w.ref("Api"), "Stage": w.ref("Api.Stage"),
	})
	mapping.CfnOptions().SetCondition(p.domain.given)
	record := w.resource("DomainRecord", "AWS::Route53::RecordSet", map[string]any{
		"HostedZoneId": p.zone.value, "Name": p.domain.value, "Type": "A",
		"AliasTarget": map[string]any{
			"DNSName":      domain.GetAtt(jsii.String("RegionalDomainName"), "STRING"),
			"HostedZoneId": domain.GetAtt(jsii.String("RegionalHostedZoneId"), "STRING"),
		},
	})
	record.CfnOptions().SetCondition(p.domainInZone)
}
