package localstack

import (
	"context"
	"encoding/xml"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
)

// Role is a role of a deployed stack.
type Role struct {
	LogicalID string // in the template after its transform: SendTaskFunctionRole
	Name      string
	Policies  []Policy
}

// Policy is one of a role's policies.
type Policy struct {
	Name     string
	ByAWS    bool   // AWS's own, which many roles share
	Document string // JSON
}

// Roles reads the roles of a stack with what is attached to them, as they were deployed.
func (s Server) Roles(ctx context.Context, stack string) (roles []Role, err error) {
	resources, err := s.Resources(ctx, stack)
	if err != nil {
		return nil, err
	}
	for logical, r := range resources {
		if r.Type != "AWS::IAM::Role" {
			continue
		}
		role := Role{LogicalID: logical, Name: r.ID}
		if role.Policies, err = s.policies(ctx, r.ID); err != nil {
			return nil, fmt.Errorf("role %s: %w", r.ID, err)
		}
		roles = append(roles, role)
	}
	return roles, nil
}

// Resource is a resource of a deployed stack.
type Resource struct{ Type, ID string }

// Resources are those of a stack, by their logical ids.
func (s Server) Resources(ctx context.Context, stack string) (map[string]Resource, error) {
	all := map[string]Resource{}
	pages := cloudformation.NewListStackResourcesPaginator(cloudformation.NewFromConfig(s.Config()),
		&cloudformation.ListStackResourcesInput{StackName: &stack})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		for _, r := range page.StackResourceSummaries {
			all[aws.ToString(r.LogicalResourceId)] = Resource{aws.ToString(r.ResourceType), aws.ToString(r.PhysicalResourceId)}
		}
	}
	return all, nil
}

func (s Server) policies(ctx context.Context, role string) (policies []Policy, err error) {
	var inline struct {
		Names []string `xml:"ListRolePoliciesResult>PolicyNames>member"`
	}
	if err := s.iam(ctx, &inline, "ListRolePolicies", "RoleName", role); err != nil {
		return nil, err
	}
	for _, name := range inline.Names {
		var got struct {
			Document string `xml:"GetRolePolicyResult>PolicyDocument"`
		}
		if err := s.iam(ctx, &got, "GetRolePolicy", "RoleName", role, "PolicyName", name); err != nil {
			return nil, err
		}
		policies = append(policies, Policy{Name: name, Document: got.Document})
	}
	var attached struct {
		Policies []struct {
			ARN  string `xml:"PolicyArn"`
			Name string `xml:"PolicyName"`
		} `xml:"ListAttachedRolePoliciesResult>AttachedPolicies>member"`
	}
	if err := s.iam(ctx, &attached, "ListAttachedRolePolicies", "RoleName", role); err != nil {
		return nil, err
	}
	for _, p := range attached.Policies {
		var policy struct {
			Version string `xml:"GetPolicyResult>Policy>DefaultVersionId"`
		}
		if err := s.iam(ctx, &policy, "GetPolicy", "PolicyArn", p.ARN); err != nil {
			return nil, err
		}
		var got struct {
			Document string `xml:"GetPolicyVersionResult>PolicyVersion>Document"`
		}
		if err := s.iam(ctx, &got, "GetPolicyVersion", "PolicyArn", p.ARN, "VersionId", policy.Version); err != nil {
			return nil, err
		}
		policies = append(policies, Policy{Name: p.Name, ByAWS: strings.Contains(p.ARN, "::aws:policy/"), Document: got.Document})
	}
	for i, p := range policies { // documents come URL-encoded (IAM, GetPolicyVersion)
		if policies[i].Document, err = url.QueryUnescape(strings.ReplaceAll(p.Document, "+", "%2B")); err != nil {
			return nil, err
		}
	}
	return policies, nil
}

// iam makes a call of IAM's query API; arguments are pairs of name and value.
func (s Server) iam(ctx context.Context, answer any, action string, arguments ...string) error {
	form := url.Values{"Action": {action}, "Version": {"2010-05-08"}}
	for i := 0; i+1 < len(arguments); i += 2 {
		form.Set(arguments[i], arguments[i+1])
	}
	res, text, err := s.request(ctx, "iam", http.MethodPost, "/", "application/x-www-form-urlencoded", []byte(form.Encode()))
	if err != nil {
		return err
	}
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s\n%s", action, res.Status, text)
	}
	return xml.Unmarshal(text, answer)
}
