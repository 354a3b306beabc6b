//go:build integration

package main

import "slices"

// mutant is a change of the template that must not pass.
type mutant struct {
	name     string
	old, new string // in the template's text; the first place counts
	rule     string // that sees it
	want     string // part of what the rule says
}

func mutants() []mutant { return slices.Concat(mutantsOfApply(), mutantsOfBackup(), mutantsOfVerify()) }

func mutantsOfApply() []mutant {
	const position = "StartingPosition: TRIM_HORIZON"
	beside := func(property string) string { return position + "\n            " + property }
	return []mutant{
		{"Latest", position, "StartingPosition: LATEST", "SkipsNoRecord", "StartingPosition: got LATEST"},
		{
			"Timestamp", position, beside("StartingPositionTimestamp: 1700000000"),
			"SkipsNoRecord", "StartingPositionTimestamp: got",
		},
		{
			"Filter", position, beside(`FilterCriteria: {Filters: [{Pattern: '{"value": [1]}'}]}`),
			"SkipsNoRecord", "FilterCriteria: got",
		},
		{
			"Destination", position, beside("DestinationConfig: {OnFailure: {Destination: !GetAtt ApplyLogs.Arn}}"),
			"SkipsNoRecord", "DestinationConfig: got",
		},
		{
			"FiniteRetries", "MaximumRetryAttempts: -1", "MaximumRetryAttempts: 3",
			"SkipsNoRecord", "MaximumRetryAttempts: got 3",
		},
		{"UnsaidRetries", "MaximumRetryAttempts: -1", "", "SkipsNoRecord", "MaximumRetryAttempts: got <nil>"},
		{
			"FiniteAge", "MaximumRecordAgeInSeconds: -1", "MaximumRecordAgeInSeconds: 60",
			"SkipsNoRecord", "MaximumRecordAgeInSeconds: got 60",
		},
		{
			"Bisection", "BisectBatchOnFunctionError: false", "BisectBatchOnFunctionError: true",
			"SkipsNoRecord", "got true",
		},
		{"Disabled", position, beside("Enabled: false"), "SkipsNoRecord", "Enabled: got false"},
		{
			"TwoTopics", `Topics: ["dbn.shop.orders"]`, `Topics: ["dbn.shop.orders", "dbn.shop.OrderLines"]`,
			"MapsEachTopicOnce", "[dbn.shop.orders dbn.shop.OrderLines], want one",
		},
		{
			"TopicTwice", `Topics: ["dbn.shop.orders"]`, `Topics: ["dbn.shop.OrderLines"]`,
			"MapsEachTopicOnce", "mapped topics: got",
		},
		{
			"OtherCluster", "Stream: !Ref MskClusterArn", "Stream: arn:aws:kafka:eu-central-1:111122223333:cluster/b/1",
			"MapsEachTopicOnce", "cluster: got",
		},
		{
			"NoPartialReplies", "FunctionResponseTypes: [ReportBatchItemFailures]", "",
			"RepliesInParts", "FunctionResponseTypes: got <nil>",
		},
		{
			"FunctionToldOtherwise", `TIDEMARK_PARTIAL_REPLIES: "true"`, `TIDEMARK_PARTIAL_REPLIES: "false"`,
			"RepliesInParts", "told: got false",
		},
		{
			"NoGroup", `ConsumerGroupId: !Sub "${AWS::StackName}-shop-dbn.shop.orders"`, "",
			"KeepsItsConsumerGroups", "group: got <nil>",
		},
		{
			"SharedGroup", `Id: !Sub "${AWS::StackName}-shop-dbn.shop.orders"`, `Id: !Sub "${AWS::StackName}-shop"`,
			"KeepsItsConsumerGroups", "group: got stack-shop, want",
		},
		{
			"ScalingPollers", "MaximumPollers: !Ref PollersPerTopic", "MaximumPollers: 20",
			"PollsWithoutRebalances", "MaximumPollers:20",
		},
		{
			"PollersOfTheirOwn", "PollerGroupName: !Ref AWS::StackName", "",
			"PollsWithoutRebalances", "want map[MaximumPollers:1",
		},
		{
			"AnyTopic", `!Ref MskClusterArn]], "dbn.shop.orders"]`, `!Ref MskClusterArn]], "*"]`,
			"GrantsNothingElse", "/* is granted and not needed",
		},
		{
			"AnyResource", "Resource: !Ref MskClusterArn", `Resource: "*"`,
			"GrantsNothingElse", "kafka-cluster:Connect on * is granted and not needed",
		},
		{
			"AlterCluster", "- kafka-cluster:Connect", "- kafka-cluster:AlterCluster",
			"GrantsNothingElse", "kafka-cluster:AlterCluster on",
		},
		{"AnyAction", "- kafka-cluster:Connect", "- kafka-cluster:*", "GrantsNothingElse", "kafka-cluster:* on"},
		{
			"NoDescribeGroup", "kafka-cluster:AlterGroup, kafka-cluster:DescribeGroup", "kafka-cluster:AlterGroup",
			"GrantsNothingElse", "needed and not granted",
		},
		{
			"EverySecret", "logs:PutLogEvents]", "logs:PutLogEvents, secretsmanager:GetSecretValue]",
			"GrantsNothingElse", "secretsmanager:GetSecretValue on",
		},
		{
			"AttachedPolicy", "- !Ref ApplyTopics0", "- arn:aws:iam::aws:policy/PowerUserAccess",
			"GrantsNothingElse", "PowerUserAccess on * is granted",
		},
		{
			"InterfacesForTheCode", "Action: ec2:*", "Action: ec2:DescribeVpcs",
			"GrantsNothingElse", "the apply function's own code",
		},
		{"MisspeltVariable", "TIDEMARK_LOG_LEVEL: ", "TIDEMARK_LOGLEVEL: ", "TellsTheFunction", "TIDEMARK_LOGLEVEL"},
		{"NoTarget", "TIDEMARK_TARGET_ID: !Ref TargetId", "", "TellsTheFunction", "TIDEMARK_TARGET_ID"},
		{
			"NoSecret", "TIDEMARK_DATABASE_SECRET: !Sub", "TIDEMARK_DATABASE_SECRET: other # !Sub",
			"TellsTheFunction", "secret: got other",
		},
		{
			"AnySecret", "secretsmanager:GetSecretValue, Resource: !Ref DatabaseSecretArn", `secretsmanager:GetSecretValue, Resource: "*"`,
			"GrantsNothingElse", "ApplyRole: secretsmanager:GetSecretValue on * is granted",
		},
		{
			"AnythingOfTheSecretsKey", "[secretsmanager, !Select", "[s3, !Select",
			"GrantsNothingElse", "ApplyRole: kms:Decrypt on " + secretKeyARN + " if map[StringEquals:map[kms:ViaService:s3.",
		},
		{
			"TheKeyAlways", "                - HasDatabaseSecretKey\n", "                - InVpc\n",
			"GrantsNothingElse", "ApplyRole: kms:Decrypt on  if",
		},
		{"OtherFolder", "CodeUri: build/apply", "CodeUri: build", "RunsThePackagedBinary", "code: got build"},
		{"LongTimeout", "MaxValue: 600", "MaxValue: 900", "RunsThePackagedBinary", "14 minutes"},
		{"ShortTimeout", "MinValue: 90", "MinValue: 1", "RunsThePackagedBinary", "deadline_reserve"},
		{
			"SilenceIsFine", "TreatMissingData: breaching", "TreatMissingData: notBreaching",
			"AlarmsOnSilence", "got notBreaching",
		},
		{
			"SilenceIsFineByDefault", "Default: breaching", "Default: notBreaching",
			"AlarmsOnSilence", "got notBreaching",
		},
		{
			"NoLagAlarm", `{Name: Topic, Value: "dbn.shop.orders"}`, "{Name: Topic, Value: other}",
			"AlarmsOnSilence", "no alarm on Topic=dbn.shop.orders",
		},
		{
			"AnyText", "    AllowedPattern: ^[a-z0-9][a-z0-9._-]{0,62}$\n", "",
			"RefusesSenselessParameters", "TargetId: nothing says",
		},
		{
			"PasswordInTheURL", `^postgres(ql)?://[^:@/?#\s]+@`, `^postgres(ql)?://[^@/?#\s]+@`,
			"RefusesSenselessParameters", "DatabaseUrl takes postgres://me:secret@db/shop",
		},
		{
			"NoServerlessClusters", "/[a-z0-9-]{1,40}$", "/[a-f0-9-]{1,40}$",
			"RefusesSenselessParameters", "MskClusterArn does not take",
		},
		{
			"HalfAPattern", "^[a-z0-9][a-z0-9._-]{0,62}$", "^[a-z0-9]",
			"RefusesSenselessParameters", "TargetId: nothing says",
		},
	}
}
