//go:build integration

package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// grant is one action on one resource.
type grant struct{ action, resource string }

// granted is every right of the role. A resource with a star in it comes with the reason why no narrower one does.
func granted(s stack) map[grant]string {
	const (
		describing = "describing actions of EC2 know no resources"
		interfaces = "the interfaces get their names when the service makes them; it wants to delete any that it has made"
	)
	want := map[grant]string{}
	add := func(resource, reason string, actions ...string) {
		for _, action := range actions {
			want[grant{action, resource}] = reason
		}
	}
	add("(ApplyLogs.Arn)", "", "logs:CreateLogStream", "logs:PutLogEvents")
	add(clusterARN, "", "kafka:DescribeCluster", "kafka:DescribeClusterV2", "kafka:GetBootstrapBrokers",
		"kafka-cluster:Connect", "kafka-cluster:DescribeClusterDynamicConfiguration")
	add("*", describing, "ec2:DescribeNetworkInterfaces", "ec2:DescribeSecurityGroups",
		"ec2:DescribeSubnets", "ec2:DescribeVpcs")
	add("arn:aws:ec2:eu-central-1:111122223333:*/*", interfaces, "ec2:AssignPrivateIpAddresses",
		"ec2:CreateNetworkInterface", "ec2:DeleteNetworkInterface", "ec2:UnassignPrivateIpAddresses")
	below := func(kind string) string { return strings.Replace(clusterARN, ":cluster/", ":"+kind+"/", 1) + "/" }
	for _, topic := range s.flow.Topics {
		add(below("topic")+topic, "", "kafka-cluster:DescribeTopic", "kafka-cluster:ReadData")
		add(below("group")+"stack-"+s.flow.Name+"-"+topic, "", "kafka-cluster:DescribeGroup", "kafka-cluster:AlterGroup")
	}
	return want
}

// grantsNothingElse: the role has these rights, every one of them and no other. The function needs none on the secret:
// the password is read by whoever deploys.
func grantsNothingElse(s stack) []string {
	role := s.resources["ApplyRole"].Properties
	want := granted(s)
	var findings []string
	for g, reason := range want {
		if strings.Contains(g.resource, "*") && reason == "" {
			findings = append(findings, fmt.Sprintf("%s on %s: nobody says why", g.action, g.resource))
		}
	}
	for _, g := range s.grants(role) {
		if _, ok := want[g]; !ok {
			findings = append(findings, fmt.Sprintf("%s on %s is granted and not needed", g.action, g.resource))
		}
		delete(want, g)
	}
	for g := range want {
		findings = append(findings, fmt.Sprintf("%s on %s is needed and not granted", g.action, g.resource))
	}
	if !slices.ContainsFunc(s.statements(role), isDeniedToTheFunction) {
		findings = append(findings, "the function's own code may change network interfaces")
	}
	return append(findings, differs("roles", slices.Sorted(maps.Keys(s.of("IAM::Role"))), []string{"ApplyRole"})...)
}

func isDeniedToTheFunction(statement any) bool {
	const function = "arn:aws:lambda:eu-central-1:111122223333:function:stack-apply"
	return at(statement, "Effect") == "Deny" && at(statement, "Action") == "ec2:*" && at(statement, "Resource") == "*" &&
		at(statement, "Condition", "ArnEquals", "lambda:SourceFunctionArn") == function
}

// statements are all statements of the role: its own and those of attached policies. One that is not the template's
// counts as a right to everything, because nobody sees what it grants.
func (s stack) statements(role map[string]any) []any {
	var statements []any
	policies, _ := role["Policies"].([]any)
	attached, _ := role["ManagedPolicyArns"].([]any)
	for _, arn := range attached {
		policy, ok := s.resources[strings.Trim(fmt.Sprint(arn), "()")]
		if !ok {
			statements = append(statements, map[string]any{"Effect": "Allow", "Action": fmt.Sprint(arn), "Resource": "*"})
		}
		policies = append(policies, policy.Properties)
	}
	for _, policy := range policies {
		own, _ := at(policy, "PolicyDocument", "Statement").([]any)
		statements = append(statements, own...)
	}
	return statements
}

// grants are the role's rights. A statement that is not understood counts as a right to everything.
func (s stack) grants(role map[string]any) []grant {
	var grants []grant
	for _, statement := range s.statements(role) {
		members, _ := statement.(map[string]any)
		if members["Effect"] == "Deny" {
			continue
		}
		if members["NotAction"] != nil || members["NotResource"] != nil {
			grants = append(grants, grant{"*", "*"})
		}
		for _, action := range several(members["Action"]) {
			for _, resource := range several(members["Resource"]) {
				grants = append(grants, grant{fmt.Sprint(action), fmt.Sprint(resource)})
			}
		}
	}
	return grants
}

// several is a list, or a list of the one value.
func several(value any) []any {
	if values, ok := value.([]any); ok {
		return values
	}
	return []any{value}
}
