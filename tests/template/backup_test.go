//go:build integration

package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"time"

	"tidemark/shared/config"
	"tidemark/shared/config/location"
	"tidemark/shared/secret"
)

// ofBackup are the rights of the backup function. None of them deletes.
func ofBackup(s stack) rights {
	const keys = "the keys of objects are not known before they are made; they stay below the target's prefix"
	want := rights{}
	want.add("(BackupLogs.Arn)", "", "logs:CreateLogStream", "logs:PutLogEvents")
	want.add("arn:aws:s3:::backups/tidemark/*", keys, "s3:GetObject", "s3:PutObject")
	want.addIf("arn:aws:s3:::backups", "map[StringLikeIfExists:map[s3:prefix:tidemark/*]]", "", "s3:ListBucket")
	want.add(signingARN, "", "kms:GetPublicKey", "kms:Sign")
	want.add("arn:aws:ssm:eu-central-1:111122223333:parameter/tidemark/shop/newest", "", "ssm:GetParameter", "ssm:PutParameter")
	want.network()
	want.secret(s)
	if s.bare == nil {
		return want
	}
	via := func(region string) string {
		return "map[StringEquals:map[kms:ViaService:s3." + region + ".amazonaws.com]]"
	}
	want.add("arn:aws:s3:::backups/tidemark/*", keys, "s3:GetObjectRetention", "s3:PutObjectRetention")
	want.addIf(archiveARN, via("eu-central-1"), "", "kms:Decrypt", "kms:GenerateDataKey")
	want.add("arn:aws:s3:::copies/a/b/*", keys, "s3:GetObject", "s3:PutObject")
	want.addIf("arn:aws:s3:::copies", "map[StringLikeIfExists:map[s3:prefix:a/b/*]]", "", "s3:ListBucket")
	want.addIf(secondaryARN, via("eu-west-1"), "", "kms:Decrypt", "kms:GenerateDataKey")
	return want
}

// toInvoke is the right of a schedule, or of a state machine.
func toInvoke(name string) rights {
	want := rights{}
	want.add("("+name+"Function.Arn)", "", "lambda:InvokeFunction")
	return want
}

// tellsTheBackup: the function's own configuration takes what the template gives it, and makes of it what was meant.
func tellsTheBackup(s stack) []string {
	full, err := config.LoadBackup(environment(s.variables("BackupFunction")))
	if err != nil {
		return []string{err.Error()}
	}
	bare, err := config.LoadBackup(environment(s.bare.variables("BackupFunction")))
	if err != nil {
		return []string{"with the least of parameters: " + err.Error()}
	}
	primary := location.Place{Kind: location.S3, Bucket: "backups", Prefix: "tidemark", Region: "eu-central-1"}
	encrypted := primary
	encrypted.KMSKey = archiveARN
	return slices.Concat(
		differs("secret", full.DatabaseSecret, secret.Name{ID: secretARN, Key: "password"}),
		differs("trusted keys", full.Archive.TrustedKeys, "/var/task/trusted-keys.yaml"),
		differs("signing keys", full.Archive.SigningKeys, []location.Key{{KMS: signingARN}}),
		differs("high-water mark", full.Archive.HighWater, location.Mark{Parameter: "/tidemark/shop/newest"}),
		differs("archive", full.Archive.Primary, encrypted),
		differs("archive without a key", bare.Archive.Primary, primary),
		differs("second bucket", full.Archive.Secondary, location.Place{
			Kind: location.S3, Bucket: "copies", Prefix: "a/b", Region: "eu-west-1", KMSKey: secondaryARN,
		}),
		differs("no second bucket", bare.Archive.Secondary, location.Place{}),
		differs("object lock", full.Archive.ObjectLock, 720*time.Hour),
		differs("no object lock", bare.Archive.ObjectLock, time.Duration(0)),
		differs("jobs", full.Jobs, 2),
		s.suffices(full.Jobs),
	)
}

// suffices: the function refuses to start with less memory than its readers take.
func (s stack) suffices(jobs int) []string {
	const own, each = 200, 150
	memory, _ := s.resources["BackupFunction"].Properties["MemorySize"].(float64)
	if int(memory) < own+jobs*each {
		return []string{fmt.Sprintf("memory: got %v MB for %d jobs", memory, jobs)}
	}
	return nil
}

// backsUpOnSchedule: each scheduled time is one invocation, which knows its time, and none runs beside another.
func backsUpOnSchedule(s stack) []string {
	f := s.resources["BackupFunction"].Properties
	findings := slices.Concat(
		differs("reserved concurrency", f["ReservedConcurrentExecutions"], any(1.0)),
		differs("timeout", f["Timeout"], any(900.0)),
	)
	calls := s.of("Lambda::EventInvokeConfig")
	findings = append(findings, differs("configurations of invocations", len(calls), 3)...)
	for name, c := range calls {
		findings = append(findings, slices.Concat(
			differs(name+": retries", c["MaximumRetryAttempts"], any(0.0)),
			differs(name+": age", c["MaximumEventAgeInSeconds"], any(3600.0)),
		)...)
	}
	schedules := s.schedulesOf("Backup")
	findings = append(findings, differs("schedules", len(schedules), 1)...)
	for name, c := range schedules {
		findings = append(findings, slices.Concat(
			differs(name+": name", c["Name"], any("stack-backup")),
			differs(name+": expression", c["ScheduleExpression"], any("rate(1 hour)")),
			differs(name+": window", c["FlexibleTimeWindow"], any(map[string]any{"Mode": "OFF"})),
			differs(name+": state", c["State"], nil),
			differs(name+": target", at(c, "Target", "Arn"), any("(BackupFunction.Arn)")),
			differs(name+": role", at(c, "Target", "RoleArn"), any("(BackupScheduleRole.Arn)")),
			differs(name+": retries", at(c, "Target", "RetryPolicy"), any(map[string]any{"MaximumRetryAttempts": 0.0})),
			tellsTheTime(fmt.Sprint(at(c, "Target", "Input"))),
		)...)
	}
	return append(findings, s.isTakenBy("BackupScheduleRole", "scheduler")...)
}

// schedulesOf are those that invoke a function.
func (s stack) schedulesOf(function string) map[string]map[string]any {
	schedules := s.of("Scheduler::Schedule")
	maps.DeleteFunc(schedules, func(_ string, c map[string]any) bool {
		return at(c, "Target", "Arn") != "("+function+"Function.Arn)"
	})
	return schedules
}

// isTakenBy: a role is for one service of this account.
func (s stack) isTakenBy(role, service string) []string {
	var trust any = []any{map[string]any{
		"Effect": "Allow", "Principal": map[string]any{"Service": service + ".amazonaws.com"}, "Action": "sts:AssumeRole",
		"Condition": map[string]any{"StringEquals": map[string]any{"aws:SourceAccount": "111122223333"}},
	}}
	policy := at(s.resources[role].Properties, "AssumeRolePolicyDocument", "Statement")
	return differs("who takes the role "+role, policy, trust)
}

// tellsTheTime: the schedule's input has the members of the function's sample event, each with the words that the scheduler
// replaces.
func tellsTheTime(input string) []string {
	var sent map[string]string
	if err := json.Unmarshal([]byte(input), &sent); err != nil {
		return []string{fmt.Sprintf("input %q: %v", input, err)}
	}
	findings := differs("input", sent, map[string]string{
		"scheduled_time": "<aws.scheduler.scheduled-time>", "execution": "<aws.scheduler.execution-id>",
		"attempt": "<aws.scheduler.attempt-number>",
	})
	var sample map[string]string
	text, err := os.ReadFile("../../functions/backup/event.json")
	if err == nil {
		err = json.Unmarshal(text, &sample)
	}
	if err != nil {
		return append(findings, fmt.Sprintf("the sample event: %v", err))
	}
	return append(findings, differs("members of input", slices.Sorted(maps.Keys(sent)), slices.Sorted(maps.Keys(sample)))...)
}

// speaksOfTheLast says of an alarm that it is about the last backup or look, and keeps its state until the next.
func speaksOfTheLast(alarm string) bool {
	return slices.Contains([]string{"BackupErrorsAlarm", "BackupDurationAlarm", "VerifyFailuresAlarm"}, alarm)
}

// alarmsOnMissingBackups: what counts is a manifest, which only a line of the log tells of, and no figure is the worst one.
func alarmsOnMissingBackups(s stack) []string {
	alarms := s.of("CloudWatch::Alarm")
	var findings []string
	for _, name := range []string{"BackupErrorsAlarm", "BackupDurationAlarm"} {
		findings = append(findings, differs(name+": TreatMissingData", alarms[name]["TreatMissingData"], any("ignore"))...)
		findings = append(findings, differs(name+": periods", alarms[name]["EvaluationPeriods"], any(1.0))...)
	}
	missing := alarms["BackupManifestAlarm"]
	for property, want := range map[string]any{
		"Namespace": "Tidemark/stack", "MetricName": "backup_manifests", "Statistic": "Sum", "Period": 3600.0,
		"EvaluationPeriods": 24.0, "DatapointsToAlarm": nil, "Threshold": 1.0, "ComparisonOperator": "LessThanThreshold",
		"TreatMissingData": "breaching",
	} {
		findings = append(findings, differs("BackupManifestAlarm: "+property, missing[property], want)...)
	}
	filter := s.resources["BackupManifests"].Properties
	var counted any = []any{map[string]any{
		"MetricNamespace": "Tidemark/stack", "MetricName": "backup_manifests", "MetricValue": "1",
	}}
	return slices.Concat(findings,
		differs("the counted lines", filter["FilterPattern"], any(`{ $.msg = "backup done" }`)),
		differs("where they are counted", filter["LogGroupName"], any("(BackupLogs)")),
		differs("what they count as", filter["MetricTransformations"], counted),
	)
}
