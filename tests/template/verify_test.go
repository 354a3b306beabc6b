//go:build integration

package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"

	"tidemark/shared/config"
	"tidemark/shared/config/location"
	"tidemark/shared/secret"
)

// ofReader are the rights of a function that reads the archive and the log, and writes into some folders of the archive. None of
// them deletes.
func ofReader(s stack, name string, folders ...string) rights {
	const (
		keys   = "the keys of objects are not known before they are made; they stay below the target's prefix"
		topics = "the topics are those of the backup's flows; reading changes nothing"
	)
	want := rights{}
	want.add("("+name+"Logs.Arn)", "", "logs:CreateLogStream", "logs:PutLogEvents")
	want.add(clusterARN, "", "kafka-cluster:Connect", "kafka-cluster:DescribeCluster")
	const every = "arn:aws:kafka:eu-central-1:111122223333:topic/cluster-1/0a1b2c3d-0000-4000-8000-00000000000f-2/*"
	want.add(every, topics, "kafka-cluster:DescribeTopic", "kafka-cluster:DescribeTopicDynamicConfiguration", "kafka-cluster:ReadData")
	bucket := func(bucket, prefix, key, region string) {
		want.add("arn:aws:s3:::"+bucket+"/"+prefix+"/*", keys, "s3:GetObject")
		for _, folder := range folders {
			want.add("arn:aws:s3:::"+bucket+"/"+prefix+"/"+folder+"/*", keys, "s3:PutObject")
		}
		want.addIf("arn:aws:s3:::"+bucket, "map[StringLikeIfExists:map[s3:prefix:"+prefix+"/*]]", "", "s3:ListBucket")
		if key != "" {
			want.addIf(key, "map[StringEquals:map[kms:ViaService:s3."+region+".amazonaws.com]]", "", "kms:Decrypt", "kms:GenerateDataKey")
		}
	}
	if s.bare == nil {
		bucket("backups", "tidemark", "", "")
	} else {
		bucket("backups", "tidemark", archiveARN, "eu-central-1")
		bucket("copies", "a/b", secondaryARN, "eu-west-1")
	}
	want.add(signingARN, "", "kms:GetPublicKey", "kms:Sign")
	want.add("arn:aws:ssm:eu-central-1:111122223333:parameter/tidemark/shop/newest", "", "ssm:GetParameter")
	want.network()
	want.secret(s)
	return want
}

// tellsWhoReadsBackups: the functions' own configuration takes what the template gives them, and makes of it what was meant.
func tellsWhoReadsBackups(s stack) []string {
	var findings []string
	for _, function := range []string{"VerifyFunction", "RecoverFunction"} {
		if _, err := config.LoadArchivist(environment(s.variables(function))); err != nil {
			findings = append(findings, function+": "+err.Error())
		}
		got, err := config.LoadRecovery(environment(s.variables(function)))
		if err != nil {
			findings = append(findings, function+": "+err.Error())
		}
		findings = append(findings, slices.Concat(
			differs(function+": brokers", got.Kafka.Addresses, []string{"b-1.example.com:9098", "b-2.example.com:9098"}),
			differs(function+": mechanism", got.Kafka.Mechanism, "AWS_MSK_IAM"),
			differs(function+": flow file", got.FlowFile, "/var/task/flow.yaml"),
			differs(function+": secret", got.DatabaseSecret, secret.Name{ID: secretARN, Key: "password"}),
			differs(function+": trusted keys", got.Archive.TrustedKeys, "/var/task/trusted-keys.yaml"),
			differs(function+": signing keys", got.Archive.SigningKeys, []location.Key{{KMS: signingARN}}),
			differs(function+": mark", got.Archive.HighWater, location.Mark{Parameter: "/tidemark/shop/newest"}),
			differs(function+": second bucket", got.Archive.Secondary.Bucket, "copies"),
			differs(function+": timeout", s.resources[function].Properties["Timeout"], any(900.0)),
			differs(function+": at once", s.resources[function].Properties["ReservedConcurrentExecutions"], any(1.0)),
		)...)
	}
	return findings
}

// verifiesOnSchedule: looks and rehearsals come by themselves, and recoveries never do.
func verifiesOnSchedule(s stack) []string {
	sent := map[string]string{}
	var findings []string
	for name, c := range s.schedulesOf("Verify") {
		sent[fmt.Sprint(at(c, "Target", "Input"))] = fmt.Sprint(c["ScheduleExpression"])
		findings = append(findings, slices.Concat(
			differs(name+": state", c["State"], nil),
			differs(name+": role", at(c, "Target", "RoleArn"), any("(VerifyScheduleRole.Arn)")),
		)...)
	}
	return slices.Concat(findings, s.isTakenBy("VerifyScheduleRole", "scheduler"),
		differs("what is sent when", sent, map[string]string{
			`{"level":"hash","sample":"5%"}`: "rate(1 day)", `{"level":"data"}`: "rate(7 days)",
		}),
		differs("schedules of recoveries", len(s.schedulesOf("Recover")), 0),
		differs("the sample event's members", membersOf("verify"), []string{"level", "sample"}),
	)
}

// membersOf are those of a function's sample event.
func membersOf(function string) []string {
	var sample map[string]any
	text, err := os.ReadFile("../../functions/" + function + "/event.json") //nolint:gosec // fixed words
	if err == nil {
		err = json.Unmarshal(text, &sample)
	}
	if err != nil {
		return []string{err.Error()}
	}
	return slices.Sorted(maps.Keys(sample))
}

// alarmsOnStaleRehearsals: a failure stands until the next look, and silence is the worst age.
func alarmsOnStaleRehearsals(s stack) []string {
	alarms := s.of("CloudWatch::Alarm")
	failures, age := alarms["VerifyFailuresAlarm"], alarms["RehearsalAgeAlarm"]
	findings := slices.Concat(
		differs("failures: missing data", failures["TreatMissingData"], any("ignore")),
		differs("failures: metric", failures["MetricName"], any("verify_failures")),
		differs("failures: threshold", failures["Threshold"], any(0.0)),
		differs("age: missing data", age["TreatMissingData"], any("breaching")),
		differs("age: threshold", age["Threshold"], any(15.0)),
		differs("age: periods", age["EvaluationPeriods"], any(2.0)),
	)
	for name, want := range map[string]string{"VerifyFailures": "failures", "RehearsalAges": "rehearsal_age_seconds"} {
		filter := s.resources[name].Properties
		findings = append(findings, slices.Concat(
			differs(name+": lines", filter["FilterPattern"], any("{ $."+want+" >= 0 }")),
			differs(name+": log", filter["LogGroupName"], any("(VerifyLogs)")),
		)...)
		transformations, _ := filter["MetricTransformations"].([]any)
		if len(transformations) != 1 {
			findings = append(findings, name+": counts not one thing")
			continue
		}
		findings = append(findings, slices.Concat(
			differs(name+": value", at(transformations[0], "MetricValue"), any("$."+want)),
			differs(name+": without a line", at(transformations[0], "DefaultValue"), nil),
		)...)
	}
	return findings
}

// recoversByMachine: the machine that goes on calling invokes the recover function and nothing else.
func recoversByMachine(s stack) []string {
	machines := s.of("StepFunctions::StateMachine")
	m := machines["RecoverStateMachine"]
	return slices.Concat(
		differs("machines", len(machines), 1),
		differs("definition", at(m, "DefinitionS3Location", "Key"), any("infra/recover.asl.json")),
		differs("function", at(m, "DefinitionSubstitutions", "RecoverFunctionArn"), any("(RecoverFunction.Arn)")),
		differs("role", m["RoleArn"], any("(RecoverMachineRole.Arn)")),
		s.isTakenBy("RecoverMachineRole", "states"),
	)
}
