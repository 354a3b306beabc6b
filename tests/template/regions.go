package main

import (
	"fmt"
	"strings"
	"text/template"
)

// The regions of the template that are written here.
const (
	eventsRegion    = "events"
	policiesRegion  = "policies"
	resourcesRegion = "resources"
)

// fill puts the text of each region between its marks and leaves everything else as it is. Each mark must stand on a
// line of its own, once.
func fill(document string, regions map[string]string) (string, error) {
	for _, name := range []string{eventsRegion, policiesRegion, resourcesRegion} {
		begin, end := "# BEGIN "+name+": written by make template\n", "# END "+name+"\n"
		before, rest, _ := strings.Cut(document, begin)
		_, after, inOrder := strings.Cut(rest, end)
		if !inOrder || strings.Count(document, begin) != 1 || strings.Count(document, end) != 1 {
			return "", fmt.Errorf("wants the lines %q and %q, each once and in that order",
				strings.TrimSpace(begin), strings.TrimSpace(end))
		}
		indent := before[strings.LastIndexByte(before, '\n')+1:]
		document = before + begin + regions[name] + indent + end + after
	}
	return document, nil
}

// render is the text of each region.
func render(topics []topic) map[string]string {
	regions := map[string]string{}
	texts := map[string]string{eventsRegion: events, policiesRegion: attachments, resourcesRegion: resources}
	for name, text := range texts {
		var b strings.Builder
		parsed := template.Must(template.New(name).Parse(text))
		if err := parsed.Execute(&b, map[string]any{"Topics": topics, "Policies": policies(topics)}); err != nil {
			panic(err) // the texts below are constants and the data has every name in them
		}
		regions[name] = b.String()
	}
	return regions
}

// events maps each topic once, so that no record can pass the function unseen: from the log's start, without a filter,
// an age, a last attempt or a place for what failed. Retries, age and bisecting are what the service does by itself; they
// are written out because another value loses records or tears a delivery apart. Pollers of one number do not scale, so
// they never rebalance for it, and pollers of one group share what they cost.
const events = `{{range .Topics}}        Topic{{.ID}}:
          Type: MSK
          Properties:
            Stream: !Ref MskClusterArn
            Topics: ["{{.Name}}"]
            ConsumerGroupId: !Sub "${AWS::StackName}-{{.Group}}"
            StartingPosition: TRIM_HORIZON
            MaximumRetryAttempts: -1
            MaximumRecordAgeInSeconds: -1
            BisectBatchOnFunctionError: false
            FunctionResponseTypes: [ReportBatchItemFailures]
            BatchSize: !Ref BatchSize
            MaximumBatchingWindowInSeconds: !Ref BatchingWindow
            ProvisionedPollerConfig:
              MinimumPollers: !Ref PollersPerTopic
              MaximumPollers: !Ref PollersPerTopic
              PollerGroupName: !Ref AWS::StackName
{{end}}`

const attachments = `{{range $i, $_ := .Policies}}        - !Ref ApplyTopics{{$i}}
{{end}}`

// resources are the right to read each topic in its group, and the alarm on what the cluster itself says of the group.
const resources = `{{range $i, $topics := .Policies}}  ApplyTopics{{$i}}:
    Type: AWS::IAM::ManagedPolicy
    Properties:
      Description: Reading topics of the flow, each in its consumer group.
      PolicyDocument:
        Version: "2012-10-17"
        Statement:
          - Effect: Allow
            Action: [kafka-cluster:DescribeTopic, kafka-cluster:ReadData]
            Resource:
{{range $topics}}              - !Join
                - /
                - [!Join [":topic/", !Split [":cluster/", !Ref MskClusterArn]], "{{.Name}}"]
{{end}}          - Effect: Allow
            Action: [kafka-cluster:AlterGroup, kafka-cluster:DescribeGroup]
            Resource:
{{range $topics}}              - !Join
                - /
                - [!Join [":group/", !Split [":cluster/", !Ref MskClusterArn]], !Sub "${AWS::StackName}-{{.Group}}"]
{{end}}
{{end}}{{range $i, $topic := .Topics}}{{if $i}}
{{end}}  ApplyTopicLag{{.ID}}:
    Type: AWS::CloudWatch::Alarm
    Properties:
      AlarmDescription: "{{.Name}} lags behind, or its group is gone. See its mapping's state and the function's log."
      Namespace: AWS/Kafka
      MetricName: SumOffsetLag
      Dimensions:
        - {Name: Cluster Name, Value: !Select [1, !Split ["/", !Ref MskClusterArn]]}
        - {Name: Consumer Group, Value: !Sub "${AWS::StackName}-{{.Group}}"}
        - {Name: Topic, Value: "{{.Name}}"}
      Statistic: Maximum
      Period: 60
      EvaluationPeriods: 5
      Threshold: !Ref LagAlarmRecords
      ComparisonOperator: GreaterThanThreshold
      TreatMissingData: breaching
      AlarmActions: !If [HasAlarmTopic, [!Ref AlarmTopicArn], !Ref AWS::NoValue]
{{end}}`
