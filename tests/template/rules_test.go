//go:build integration

package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"

	"tidemark/shared/config"
	"tidemark/shared/secret"
)

// stack is a template after its deployment.
type stack struct {
	flow       config.Flow
	resources  map[string]resource
	parameters map[string]parameter
	bare       *stack // the same with no more than must be given
}

type resource struct {
	Type       string
	Properties map[string]any
}

type parameter struct {
	Type           string
	Default        any
	AllowedPattern string
	AllowedValues  []any
	MinValue       *float64
	MaxValue       *float64
	Description    string
}

const (
	brokerAddresses = "b-1.example.com:9098,b-2.example.com:9098"

	clusterARN = "arn:aws:kafka:eu-central-1:111122223333:cluster/cluster-1/0a1b2c3d-0000-4000-8000-00000000000f-2"
	secretARN  = "arn:aws:secretsmanager:eu-central-1:111122223333:secret:database-AbCdEf" //nolint:gosec // a name, no secret

	secretKeyARN = "arn:aws:kms:eu-central-1:111122223333:key/0a1b2c3d-0000-4000-8000-000000000004" //nolint:gosec // a name
	signingARN   = "arn:aws:kms:eu-central-1:111122223333:key/0a1b2c3d-0000-4000-8000-000000000001"
	archiveARN   = "arn:aws:kms:eu-central-1:111122223333:key/0a1b2c3d-0000-4000-8000-000000000002"
	secondaryARN = "arn:aws:kms:eu-west-1:444455556666:key/mrk-0a1b2c3d000040008000000000000003"
)

// fill deploys the template twice: with a second bucket and keys and locks for both, and with the parameters alone that have
// no default.
func (tr transformation) fill(flow config.Flow) stack {
	given := map[string]any{
		"MskClusterArn": clusterARN, "DatabaseSecretArn": secretARN, "TargetId": "shop",
		"DatabaseUrl": "postgres://tidemark@db.example.com:5432/shop",
		"SubnetIds":   "subnet-01234567", "SecurityGroupIds": "sg-01234567",
		"ArchiveBucket": "backups", "SigningKeyArn": signingARN, "KafkaBrokers": brokerAddresses,
	}
	bare := tr.deploy(flow, given)
	maps.Copy(given, map[string]any{
		"ArchiveKeyArn": archiveARN, "SecondaryBucket": "copies", "SecondaryPrefix": "a/b", "SecondaryRegion": "eu-west-1",
		"SecondaryKeyArn": secondaryARN, "ObjectLock": "720h", "DatabaseSecretKeyArn": secretKeyARN,
	})
	full := tr.deploy(flow, given)
	full.bare = &bare
	return full
}

func (tr transformation) deploy(flow config.Flow, given map[string]any) stack {
	var document struct {
		Parameters map[string]parameter
		Conditions map[string]any
		Resources  map[string]resource
	}
	if err := json.Unmarshal(tr.Template, &document); err != nil {
		panic(err) // the translator printed it
	}
	d := deploymentOf(document.Parameters, document.Conditions, given)
	for name, r := range document.Resources {
		properties, _ := d.resolve(r.Properties).(map[string]any)
		document.Resources[name] = resource{Type: r.Type, Properties: properties}
	}
	return stack{flow: flow, resources: document.Resources, parameters: document.Parameters}
}

// of gives the resources of a type by name.
func (s stack) of(kind string) map[string]map[string]any {
	found := map[string]map[string]any{}
	for name, r := range s.resources {
		if r.Type == "AWS::"+kind {
			found[name] = r.Properties
		}
	}
	return found
}

// at is the value that lies under the names, or nil.
func at(value any, names ...string) any {
	for _, name := range names {
		members, _ := value.(map[string]any)
		value = members[name]
	}
	return value
}

// differs is a finding where got is not want, and none where it is.
func differs(what string, got, want any) []string {
	if cmp.Equal(got, want) {
		return nil
	}
	return []string{fmt.Sprintf("%s: got %v, want %v", what, got, want)}
}

// rules are what the template promises. Each lists where the promise is broken.
func rules() map[string]func(stack) []string {
	return map[string]func(stack) []string{
		"MapsEachTopicOnce":          mapsEachTopicOnce,
		"SkipsNoRecord":              skipsNoRecord,
		"RepliesInParts":             repliesInParts,
		"KeepsItsConsumerGroups":     keepsItsConsumerGroups,
		"PollsWithoutRebalances":     pollsWithoutRebalances,
		"GrantsNothingElse":          grantsNothingElse,
		"TellsTheFunction":           tellsTheFunction,
		"TellsTheBackup":             tellsTheBackup,
		"BacksUpOnSchedule":          backsUpOnSchedule,
		"RunsThePackagedBinary":      runsThePackagedBinary,
		"AlarmsOnSilence":            alarmsOnSilence,
		"AlarmsOnMissingBackups":     alarmsOnMissingBackups,
		"TellsWhoReadsBackups":       tellsWhoReadsBackups,
		"VerifiesOnSchedule":         verifiesOnSchedule,
		"AlarmsOnStaleRehearsals":    alarmsOnStaleRehearsals,
		"RecoversByMachine":          recoversByMachine,
		"RefusesSenselessParameters": refusesSenselessParameters,
	}
}

func mapsEachTopicOnce(s stack) []string {
	var findings, mapped []string
	for name, m := range s.of("Lambda::EventSourceMapping") {
		topics, _ := m["Topics"].([]any)
		if len(topics) != 1 {
			findings = append(findings, fmt.Sprintf("%s: got topics %v, want one", name, topics))
		}
		for _, topic := range topics {
			mapped = append(mapped, fmt.Sprint(topic))
		}
		findings = append(findings, differs(name+": cluster", m["EventSourceArn"], any(clusterARN))...)
		findings = append(findings, differs(name+": function", m["FunctionName"], any("(ApplyFunction)"))...)
	}
	got, want := slices.Sorted(slices.Values(mapped)), slices.Sorted(slices.Values(s.flow.Topics))
	return append(findings, differs("mapped topics", got, want)...)
}

// skipsNoRecord: whatever the event source passes over, the function never sees and cannot miss.
func skipsNoRecord(s stack) []string {
	var findings []string
	for name, m := range s.of("Lambda::EventSourceMapping") {
		for property, want := range map[string]any{
			"StartingPosition": "TRIM_HORIZON", "StartingPositionTimestamp": nil,
			"MaximumRetryAttempts": -1.0, "MaximumRecordAgeInSeconds": -1.0, "BisectBatchOnFunctionError": false,
			"FilterCriteria": nil, "DestinationConfig": nil,
			"Enabled": nil, "SourceAccessConfigurations": nil,
		} {
			findings = append(findings, differs(name+": "+property, m[property], want)...)
		}
		config, _ := m["AmazonManagedKafkaEventSourceConfig"].(map[string]any)
		findings = append(findings, differs(name+": schema registry", config["SchemaRegistryConfig"], nil)...)
	}
	return findings
}

// repliesInParts: a reply in parts that the event source does not expect counts as success.
func repliesInParts(s stack) []string {
	findings := differs("what the function is told", s.variables("ApplyFunction")["TIDEMARK_PARTIAL_REPLIES"], "true")
	var want any = []any{"ReportBatchItemFailures"}
	for name, m := range s.of("Lambda::EventSourceMapping") {
		findings = append(findings, differs(name+": FunctionResponseTypes", m["FunctionResponseTypes"], want)...)
	}
	return findings
}

// keepsItsConsumerGroups: a group that the service names is another one after the mapping was replaced.
func keepsItsConsumerGroups(s stack) []string {
	var findings []string
	for name, m := range s.of("Lambda::EventSourceMapping") {
		topics, _ := m["Topics"].([]any)
		group := at(m, "AmazonManagedKafkaEventSourceConfig", "ConsumerGroupId")
		findings = append(findings, differs(name+": group", group, any("stack-"+s.flow.Name+"-"+join(",", topics)))...)
	}
	return findings
}

func pollsWithoutRebalances(s stack) []string {
	var findings []string
	for name, m := range s.of("Lambda::EventSourceMapping") {
		pollers := at(m, "ProvisionedPollerConfig")
		findings = append(findings, differs(name+": pollers", pollers, any(map[string]any{
			"MinimumPollers": 1.0, "MaximumPollers": 1.0, "PollerGroupName": "stack",
		}))...)
	}
	return findings
}

// variables are the environment of a function.
func (s stack) variables(function string) map[string]string {
	variables := map[string]string{}
	members, _ := at(s.resources[function].Properties, "Environment", "Variables").(map[string]any)
	for name, value := range members {
		variables[name] = fmt.Sprint(value)
	}
	return variables
}

// tellsTheFunction: the function's own configuration takes what the template gives it.
func tellsTheFunction(s stack) []string {
	apply, err := config.LoadApply(environment(s.variables("ApplyFunction")))
	if err != nil {
		return []string{err.Error()}
	}
	return slices.Concat(
		differs("flow file", apply.FlowFile, "/var/task/flow.yaml"),
		differs("secret", apply.DatabaseSecret, secret.Name{ID: secretARN, Key: "password"}),
	)
}

// environment is variables as a process finds them.
func environment(variables map[string]string) (lookup func(string) (string, bool), environ []string) {
	for name, value := range variables {
		environ = append(environ, name+"="+value)
	}
	return func(name string) (string, bool) {
		value, ok := variables[name]
		return value, ok
	}, environ
}

func runsThePackagedBinary(s stack) []string {
	const minutes14 = 14 * 60
	findings := slices.Concat(
		s.runs("Apply", "build/apply"), s.runs("Backup", "build/backup"), s.runs("Verify", "build/verify"),
		s.runs("Recover", "build/recover"),
		differs("reserved concurrency", s.resources["ApplyFunction"].Properties["ReservedConcurrentExecutions"], nil),
	)
	limits := s.parameters["Timeout"]
	if limits.MaxValue == nil || *limits.MaxValue > minutes14 {
		findings = append(findings, "Timeout may exceed the 14 minutes that the event source allows")
	}
	if limits.MinValue == nil || *limits.MinValue <= s.flow.DeadlineReserve.Seconds() {
		findings = append(findings, "Timeout may be within the flow's deadline_reserve: nothing would ever be applied")
	}
	return findings
}

// runs compares a function with what make build packages into a folder.
func (s stack) runs(name, folder string) []string {
	f := s.resources[name+"Function"].Properties
	return slices.Concat(
		differs(name+": runtime", f["Runtime"], any("provided.al2023")),
		differs(name+": handler", f["Handler"], any("bootstrap")),
		differs(name+": architectures", f["Architectures"], any([]any{"arm64"})),
		differs(name+": code", at(f, "Code", "S3Key"), any(folder)),
		differs(name+": role", f["Role"], any("("+name+"Role.Arn)")),
		differs(name+": log group", at(f, "LoggingConfig", "LogGroup"), any("("+name+"Logs)")),
		differs(name+": subnets", at(f, "VpcConfig", "SubnetIds"), any([]any{"subnet-01234567"})),
	)
}

// alarmsOnSilence: an event source that has stopped reports nothing.
func alarmsOnSilence(s stack) []string {
	var findings []string
	measured := map[string]bool{}
	for name, a := range s.of("CloudWatch::Alarm") {
		if !speaksOfTheLast(name) {
			findings = append(findings, differs(name+": TreatMissingData", a["TreatMissingData"], any("breaching"))...)
		}
		measured[fmt.Sprintf("%v %v", a["Namespace"], a["MetricName"])] = true
		if a["Namespace"] == "AWS/Kafka" {
			dimensions, _ := a["Dimensions"].([]any)
			for _, dimension := range dimensions {
				measured[fmt.Sprintf("%v=%v", at(dimension, "Name"), at(dimension, "Value"))] = true
			}
		}
		if metrics, ok := a["Metrics"].([]any); ok {
			measured[fmt.Sprint(at(metrics[0], "Expression"))] = true
		}
	}
	wanted := []string{
		"AWS/Lambda OffsetLag", "AWS/Lambda Errors", "Tidemark/stack apply_error_lines",
		"100 * duration / (1000 * 120)", "Cluster Name=cluster-1",
	}
	for _, topic := range s.flow.Topics {
		wanted = append(wanted, "Topic="+topic, "Consumer Group=stack-"+s.flow.Name+"-"+topic)
	}
	for _, want := range wanted {
		if !measured[want] {
			findings = append(findings, fmt.Sprintf("no alarm on %s among %v", want, slices.Sorted(maps.Keys(measured))))
		}
	}
	return findings
}

// refusesSenselessParameters: a wrong parameter should fail before anything is deployed.
func refusesSenselessParameters(s stack) []string {
	var findings []string
	for name, p := range s.parameters {
		switch limited := p.MinValue != nil && p.MaxValue != nil; {
		case len(p.AllowedValues) > 0, p.Type == "Number" && limited:
		case strings.HasPrefix(p.AllowedPattern, "^") && strings.HasSuffix(p.AllowedPattern, "$"):
		default:
			findings = append(findings, name+": nothing says which values it takes")
		}
		if p.Description == "" {
			findings = append(findings, name+": no description")
		}
		findings = append(findings, p.misjudges(name)...)
	}
	return findings
}

// misjudges tries the parameter's pattern on values whose worth is known.
func (p parameter) misjudges(name string) []string {
	const account = "eu-central-1:111122223333:"
	good := map[string][]string{
		"MskClusterArn":     {clusterARN, "arn:aws-cn:kafka:cn-north-1:111122223333:cluster/c/0a1b2c3d-0000-4000-8000-00000000000f-s1"},
		"DatabaseUrl":       {"postgres://me@db:5432/shop", "postgresql://me@db/shop?sslrootcert=/var/task/ca.pem&sslmode=verify-ca"},
		"DatabaseSecretArn": {secretARN, "arn:aws:secretsmanager:eu-central-1:111122223333:secret:rds!db-0a1b-AbCdEf"},

		"DatabaseSecretKeyArn": {"", secretKeyARN},
		"SubnetIds":            {"", "subnet-0123456789abcdef0"},
		"ArchiveBucket":        {"shop-backups", "a.b"},
		"ArchivePrefix":        {"tidemark", "shop/prod_1.x"},
		"ArchiveKeyArn":        {"", archiveARN, secondaryARN},
		"SecondaryBucket":      {"", "shop-backups"},
		"SecondaryRegion":      {"", "eu-west-1", "us-gov-east-1"},
		"SigningKeyArn":        {signingARN},
		"ObjectLock":           {"0", "720h"},
		"BackupSchedule":       {"rate(1 hour)", "rate(30 minutes)", "cron(0 3 * * ? *)", "cron(0/20 3,4 ? * MON-FRI *)"},
		"KafkaBrokers":         {brokerAddresses, "b:1"},
		"VerifySchedule":       {"rate(1 day)"},
		"VerifySample":         {"5%", "0.25%", "100%"},
		"RehearsalSchedule":    {"rate(7 days)", "cron(0 3 ? * SUN *)"},
		"AllowUncaptured":      {"", "publication news; function shop.f(integer,text)"},
	}
	bad := map[string][]string{
		"MskClusterArn":     {"", "*", "arn:aws:kafka:" + account + "topic/c/0/orders", "arn:aws:kafka:" + account + "cluster/*/*"},
		"DatabaseUrl":       {"postgres://me:secret@db/shop", "postgres://me@db/shop?password=secret", "postgres://db/shop", "db"},
		"DatabaseSecretArn": {"", "*", "arn:aws:secretsmanager:" + account + "secret:*"},

		"DatabaseSecretKeyArn": {"*", "alias/a", "arn:aws:kms:" + account + "key/*"},
		"SubnetIds":            {"vpc-01234567"},
		"ArchiveBucket":        {"", "s3://shop", "Shop", "a/b", "shop*"},
		"ArchivePrefix":        {"", "/a", "a/", "a//b", "*", "a/../b", "A"},
		"ArchiveKeyArn":        {"*", "alias/aws/s3", "arn:aws:kms:" + account + "alias/a", "arn:aws:kms:" + account + "key/*"},
		"SecondaryBucket":      {"*", "a&b"},
		"SecondaryRegion":      {"eu", "eu-west-1&kms_key=x"},
		"SigningKeyArn":        {"", "alias/a", "arn:aws:kms:" + account + "alias/a", "arn:aws:kms:" + account + "key/*"},
		"ObjectLock":           {"", "720", "30d", "00h", "-1h"},
		"BackupSchedule":       {"", "1 hour", "rate(0 hours)", "hourly", "at(2026-01-01T00:00:00)"},
		"KafkaBrokers":         {"", "b", "b:1,", "http://b:1"},
		"VerifySchedule":       {"", "daily"},
		"VerifySample":         {"", "5", "101%", "-5%", "5%%"},
		"RehearsalSchedule":    {"", "rate(0 days)"},
		"AllowUncaptured":      {";", "a;", "a;;b"},
	}
	pattern := regexp.MustCompile(p.AllowedPattern)
	var findings []string
	for _, value := range good[name] {
		if !pattern.MatchString(value) {
			findings = append(findings, name+" does not take "+value)
		}
	}
	for _, value := range bad[name] {
		if pattern.MatchString(value) {
			findings = append(findings, name+" takes "+value)
		}
	}
	return findings
}
