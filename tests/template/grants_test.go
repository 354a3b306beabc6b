//go:build integration

package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// grant is one action on one resource, on a condition.
type grant struct{ action, resource, condition string }

// String is the grant in words.
func (g grant) String() string {
	if g.condition == "" {
		return g.action + " on " + g.resource
	}
	return g.action + " on " + g.resource + " if " + g.condition
}

// rights are what a role must have. A resource with a star in it comes with the reason why no narrower one does.
type rights map[grant]string

func (r rights) add(resource, reason string, actions ...string) {
	r.addIf(resource, "", reason, actions...)
}

func (r rights) addIf(resource, condition, reason string, actions ...string) {
	for _, action := range actions {
		r[grant{action, resource, condition}] = reason
	}
}

// network is for the service, which puts the function into its subnets.
func (r rights) network() {
	const (
		describing = "describing actions of EC2 know no resources"
		interfaces = "the interfaces get their names when the service makes them; it wants to delete any that it has made"
	)
	r.add("*", describing, "ec2:DescribeNetworkInterfaces", "ec2:DescribeSecurityGroups",
		"ec2:DescribeSubnets", "ec2:DescribeVpcs")
	r.add("arn:aws:ec2:eu-central-1:111122223333:*/*", interfaces, "ec2:AssignPrivateIpAddresses",
		"ec2:CreateNetworkInterface", "ec2:DeleteNetworkInterface", "ec2:UnassignPrivateIpAddresses")
}

// secret is for the login of the moment: this secret and no other, and its key where it is one of the account's own.
func (r rights) secret(s stack) {
	r.add(secretARN, "", "secretsmanager:GetSecretValue")
	if s.bare != nil {
		r.addIf(secretKeyARN, "map[StringEquals:map[kms:ViaService:secretsmanager.eu-central-1.amazonaws.com]]", "", "kms:Decrypt")
	}
}

// ofApply are the rights of the apply function.
func ofApply(s stack) rights {
	want := rights{}
	want.add("(ApplyLogs.Arn)", "", "logs:CreateLogStream", "logs:PutLogEvents")
	want.add(clusterARN, "", "kafka:DescribeCluster", "kafka:DescribeClusterV2", "kafka:GetBootstrapBrokers",
		"kafka-cluster:Connect", "kafka-cluster:DescribeClusterDynamicConfiguration")
	want.network()
	want.secret(s)
	below := func(kind string) string { return strings.Replace(clusterARN, ":cluster/", ":"+kind+"/", 1) + "/" }
	for _, topic := range s.flow.Topics {
		want.add(below("topic")+topic, "", "kafka-cluster:DescribeTopic", "kafka-cluster:ReadData")
		want.add(below("group")+"stack-"+s.flow.Name+"-"+topic, "", "kafka-cluster:DescribeGroup", "kafka-cluster:AlterGroup")
	}
	return want
}

// grantsNothingElse: each role has its rights, every one of them and no other.
func grantsNothingElse(s stack) []string {
	roles := map[string]rights{
		"ApplyRole": ofApply(s), "BackupRole": ofBackup(s), "BackupScheduleRole": toInvoke("Backup"),
		"VerifyRole": ofReader(s, "Verify", "verified"), "VerifyScheduleRole": toInvoke("Verify"),
		"RecoverRole": ofReader(s, "Recover", "lineages", "objects"), "RecoverMachineRole": toInvoke("Recover"),
	}
	var findings []string
	for name, want := range roles {
		findings = append(findings, s.compare(name, want)...)
	}
	if s.bare != nil {
		findings = append(findings, s.bare.compare("BackupRole", ofBackup(*s.bare))...)
		findings = append(findings, s.bare.compare("ApplyRole", ofApply(*s.bare))...)
		findings = append(findings, s.bare.compare("VerifyRole", ofReader(*s.bare, "Verify", "verified"))...)
		findings = append(findings, s.bare.compare("RecoverRole", ofReader(*s.bare, "Recover", "lineages", "objects"))...)
	}
	for _, function := range []string{"apply", "backup", "verify", "recover"} {
		role := s.resources[strings.ToUpper(function[:1])+function[1:]+"Role"].Properties
		if !slices.ContainsFunc(s.statements(role), isDeniedTo(function)) {
			findings = append(findings, "the "+function+" function's own code may change network interfaces")
		}
	}
	return append(findings, differs("roles", slices.Sorted(maps.Keys(s.of("IAM::Role"))), slices.Sorted(maps.Keys(roles)))...)
}

// compare says where a role's rights are not what is wanted.
func (s stack) compare(role string, want rights) []string {
	var findings []string
	for g, reason := range want {
		if strings.Contains(g.resource, "*") && reason == "" {
			findings = append(findings, fmt.Sprintf("%s: %s: nobody says why", role, g))
		}
	}
	for _, g := range s.grants(s.resources[role].Properties) {
		if _, ok := want[g]; !ok {
			findings = append(findings, fmt.Sprintf("%s: %s is granted and not needed", role, g))
		}
		delete(want, g)
	}
	for g := range want {
		findings = append(findings, fmt.Sprintf("%s: %s is needed and not granted", role, g))
	}
	return findings
}

// isDeniedTo finds the statement that takes from a function's code what the service needs.
func isDeniedTo(name string) func(any) bool {
	function := "arn:aws:lambda:eu-central-1:111122223333:function:stack-" + name
	return func(statement any) bool { return isDenied(statement, function) }
}

func isDenied(statement any, function string) bool {
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
			grants = append(grants, grant{"*", "*", ""})
		}
		condition := ""
		if members["Condition"] != nil {
			condition = fmt.Sprint(members["Condition"]) // members of maps are printed in order
		}
		for _, action := range several(members["Action"]) {
			for _, resource := range several(members["Resource"]) {
				grants = append(grants, grant{fmt.Sprint(action), fmt.Sprint(resource), condition})
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
