//go:build integration

package main

// mutantsOfBackup are changes of what the template says of backups.
func mutantsOfBackup() []mutant {
	const rule = "BacksUpOnSchedule"
	return []mutant{
		{"TwoAtOnce", "ReservedConcurrentExecutions: 1", "ReservedConcurrentExecutions: 2", rule, "reserved concurrency: got 2"},
		{"ShortBackups", "Timeout: 900", "Timeout: 60", rule, "timeout: got 60"},
		{"RetriedBackups", "{MaximumRetryAttempts: 0, MaximumEvent", "{MaximumRetryAttempts: 2, MaximumEvent", rule, "retries: got 2"},
		{"OldEvents", ", MaximumEventAgeInSeconds: 3600", "", rule, "age: got <nil>"},
		{"RetriedSchedule", "RetryPolicy: {MaximumRetryAttempts: 0}", "", rule, "retries: got <nil>"},
		{"NoNameOfItsOwn", "            Name: !Sub \"${AWS::StackName}-backup\"\n", "", rule, "name: got BackupFunctionSchedule"},
		{"AnyTimeOfTheHour", `{Mode: "OFF"}`, "{Mode: FLEXIBLE, MaximumWindowInMinutes: 15}", rule, "window: got"},
		{"SleepingSchedule", "RetryPolicy:", "State: DISABLED\n            RetryPolicy:", rule, "state: got DISABLED"},
		{"TimeOfTheCall", "<aws.scheduler.scheduled-time>", "<aws.scheduler.now>", rule, "input: got"},
		{"MisspeltTime", `{"scheduled_time":`, `{"scheduled":`, rule, "members of input: got"},
		{"NoInput", "Input: '{", "Description: '{", rule, "input"},
		{"RoleOfTheTranslator", "            RoleArn: !GetAtt BackupScheduleRole.Arn\n", "", rule, "role: got (BackupFunctionScheduleRole"},
		{
			"AnybodysScheduler", "            Condition: {StringEquals: {aws:SourceAccount: !Ref AWS::AccountId}}\n", "",
			rule, "who takes the role BackupScheduleRole",
		},
		{
			"Delete", "Action: [s3:GetObject, s3:PutObject]", "Action: [s3:GetObject, s3:PutObject, s3:DeleteObject]",
			"GrantsNothingElse", "s3:DeleteObject on arn:aws:s3:::backups/tidemark/* is granted and not needed",
		},
		{
			"AnyObjectAction", "Action: [s3:GetObject, s3:PutObject]", "Action: s3:*Object*",
			"GrantsNothingElse", "s3:*Object* on arn:aws:s3:::backups/tidemark/* is granted",
		},
		{
			"WholeBucket", "${ArchiveBucket}/${ArchivePrefix}/*", "${ArchiveBucket}/*",
			"GrantsNothingElse", "s3:PutObject on arn:aws:s3:::backups/* is granted",
		},
		{
			"AllNames", "                Condition: {StringLikeIfExists: {s3:prefix: !Sub \"${ArchivePrefix}/*\"}}\n", "",
			"GrantsNothingElse", "s3:ListBucket on arn:aws:s3:::backups is granted and not needed",
		},
		{
			"NamesAboveThePrefix", `s3:prefix: !Sub "${ArchivePrefix}/*"`, `s3:prefix: !Sub "${ArchivePrefix}*"`,
			"GrantsNothingElse", "[s3:prefix:tidemark*]] is granted",
		},
		{
			"DeniedWhereThereIsNone", "StringLikeIfExists", "StringLike",
			"GrantsNothingElse", "map[StringLike:map[s3:prefix:tidemark/*]] is granted",
		},
		{
			"LocksAlways", "              - !If\n                - LocksObjects\n", "              - !If\n                - InVpc\n",
			"GrantsNothingElse", "s3:PutObjectRetention on arn:aws:s3:::backups/tidemark/* is granted and not needed",
		},
		{
			"LocksNever", "LocksObjects: !Not [!Equals [!Ref ObjectLock, \"0\"]]", "LocksObjects: !Equals [!Ref ObjectLock, never]",
			"GrantsNothingElse", "s3:PutObjectRetention on arn:aws:s3:::backups/tidemark/* is needed and not granted",
		},
		{
			"AnySigningKey", "Resource: !Ref SigningKeyArn", `Resource: "*"`,
			"GrantsNothingElse", "kms:Sign on * is granted",
		},
		{
			"DecryptsForAnybody", "                  Condition: {StringEquals: {kms:ViaService: !Sub \"s3.${AWS::Region}.amazonaws.com\"}}\n", "",
			"GrantsNothingElse", "kms:Decrypt on " + archiveARN + " is granted and not needed",
		},
		{
			"AnyMark", "parameter/tidemark/${TargetId}/newest", "parameter/tidemark/*",
			"GrantsNothingElse", "ssm:PutParameter on arn:aws:ssm:eu-central-1:111122223333:parameter/tidemark/* is granted",
		},
		{
			"NoSecondBucket", "Resource: !Sub \"arn:${AWS::Partition}:s3:::${SecondaryBucket}\"", "Resource: !GetAtt BackupLogs.Arn",
			"GrantsNothingElse", "s3:ListBucket on arn:aws:s3:::copies if",
		},
		{
			"InvokesAnything", "Action: lambda:InvokeFunction, Resource: !GetAtt BackupFunction.Arn", "Action: lambda:InvokeFunction, Resource: \"*\"",
			"GrantsNothingElse", "BackupScheduleRole: lambda:InvokeFunction on * is granted",
		},
		{
			"InterfacesForTheBackup", "function:${AWS::StackName}-backup", "function:${AWS::StackName}-other",
			"GrantsNothingElse", "the backup function's own code",
		},
		{"NoSigningKey", "TIDEMARK_SIGNING_KEYS: !Sub", "TIDEMARK_SIGNING_KEYS: key.pem # !Sub", "TellsTheBackup", "signing keys: got"},
		{"NoTrustedKeys", "          TIDEMARK_TRUSTED_KEYS: /var/task/trusted-keys.yaml\n", "", "TellsTheBackup", "TIDEMARK_TRUSTED_KEYS"},
		{"NoMark", "          TIDEMARK_HIGH_WATER: !Sub \"ssm:/tidemark/${TargetId}/newest\"\n", "", "TellsTheBackup", "high-water mark: got"},
		{"NoRegion", "?region=${SecondaryRegion}&kms_key", "?kms_key", "TellsTheBackup", "names no region"},
		{"SameKey", "kms_key=${SecondaryKeyArn}", "kms_key=${ArchiveKeyArn}", "TellsTheBackup", "second bucket: got"},
		{"NoLock", "          TIDEMARK_OBJECT_LOCK: !Ref ObjectLock\n", "", "TellsTheBackup", "object lock: got"},
		{
			"LittleMemory", "MemorySize: !Ref BackupMemorySize", "MemorySize: 256",
			"TellsTheBackup", "memory: got 256 MB for 2 jobs",
		},
		{"OtherPackage", "CodeUri: build/backup", "CodeUri: build/apply", "RunsThePackagedBinary", "Backup: code: got build/apply"},
		{
			"CountsAnyLine", `'{ $.msg = "backup done" }'`, `'{ $.level = "INFO" }'`,
			"AlarmsOnMissingBackups", "the counted lines: got",
		},
		{
			"SilenceIsABackup", "          MetricName: backup_manifests\n          MetricValue: \"1\"\n",
			"          MetricName: backup_manifests\n          MetricValue: \"1\"\n          DefaultValue: 1\n",
			"AlarmsOnMissingBackups", "what they count as: got",
		},
		{
			"NoBackupIsFine", "      ComparisonOperator: LessThanThreshold\n      TreatMissingData: breaching",
			"      ComparisonOperator: LessThanThreshold\n      TreatMissingData: missing",
			"AlarmsOnMissingBackups", "BackupManifestAlarm: TreatMissingData: got missing",
		},
		{
			"QuietAlarm", "EvaluationPeriods: !Ref ManifestAlarmHours", "EvaluationPeriods: 200",
			"AlarmsOnMissingBackups", "EvaluationPeriods: got 200",
		},
		{
			"ForgottenFailure", "TreatMissingData: ignore", "TreatMissingData: notBreaching",
			"AlarmsOnMissingBackups", "BackupErrorsAlarm: TreatMissingData: got notBreaching",
		},
	}
}
