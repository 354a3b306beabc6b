//go:build integration

package main

// mutantsOfVerify are changes of what the template says of verifying and recovering.
func mutantsOfVerify() []mutant {
	return []mutant{
		{
			"ReportsAnywhere", "${ArchiveBucket}/${ArchivePrefix}/verified/*", "${ArchiveBucket}/${ArchivePrefix}/*",
			"GrantsNothingElse", "VerifyRole: s3:PutObject on arn:aws:s3:::backups/tidemark/* is granted",
		},
		{
			"RecoversIntoManifests", "${SecondaryBucket}/${SecondaryPrefix}/lineages/*", "${SecondaryBucket}/${SecondaryPrefix}/manifests/*",
			"GrantsNothingElse", "RecoverRole: s3:PutObject on arn:aws:s3:::copies/a/b/manifests/* is granted",
		},
		{
			"WritesTheLog", "kafka-cluster:DescribeTopicDynamicConfiguration, kafka-cluster:ReadData]",
			"kafka-cluster:DescribeTopicDynamicConfiguration, kafka-cluster:WriteData]", "GrantsNothingElse", "kafka-cluster:WriteData on",
		},
		{
			"MovesTheMark", "Action: ssm:GetParameter\n", "Action: [ssm:GetParameter, ssm:PutParameter]\n",
			"GrantsNothingElse", "VerifyRole: ssm:PutParameter on",
		},
		{
			"InterfacesForTheRecovery", "function:${AWS::StackName}-recover", "function:${AWS::StackName}-other",
			"GrantsNothingElse", "the recover function's own code",
		},
		{
			"NoBrokers", "          TIDEMARK_KAFKA_BROKERS: !Ref KafkaBrokers\n", "",
			"TellsWhoReadsBackups", "VerifyFunction: TIDEMARK_KAFKA_BROKERS",
		},
		{
			"NoFlows", "/var/task/flow.yaml\n          TIDEMARK_KAFKA_BROKERS", "/tmp/flow.yaml\n          TIDEMARK_KAFKA_BROKERS",
			"TellsWhoReadsBackups", "VerifyFunction: flow file: got /tmp/flow.yaml",
		},
		{
			"SampleOfAll", `"sample":"${VerifySample}"`, `"sampel":"${VerifySample}"`,
			"VerifiesOnSchedule", "what is sent when: got",
		},
		{"NoRehearsals", `Input: '{"level":"data"}'`, `Input: '{"level":"files"}'`, "VerifiesOnSchedule", "what is sent when: got"},
		{
			"FailuresAreForgotten", "FilterPattern: '{ $.failures >= 0 }'", "FilterPattern: '{ $.failures >= 2 }'",
			"AlarmsOnStaleRehearsals", "VerifyFailures: lines: got",
		},
		{
			"SilenceIsARehearsal", "Threshold: !Ref RehearsalAlarmDays\n      ComparisonOperator: GreaterThanThreshold\n      TreatMissingData: breaching",
			"Threshold: !Ref RehearsalAlarmDays\n      ComparisonOperator: GreaterThanThreshold\n      TreatMissingData: missing",
			"AlarmsOnStaleRehearsals", "age: missing data: got missing",
		},
		{
			"MachineOfAnotherFunction", "{RecoverFunctionArn: !GetAtt RecoverFunction.Arn}", "{RecoverFunctionArn: !GetAtt BackupFunction.Arn}",
			"RecoversByMachine", "function: got (BackupFunction.Arn)",
		},
	}
}
