package main

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"tidemark/shared/config"
)

// What the services take, and what the deployment may add to a name.
const (
	maxGroup      = 200    // characters of a mapping's consumer group
	maxStack      = 64 - 6 // of a stack's name, because the function's is that with "-apply"
	maxTopics     = 100    // mappings in one group of pollers
	maxPolicies   = 10     // managed policies of a role
	maxPolicySize = 6144   // characters of one, blanks not counted
	policyFrame   = 400    // of a policy beside its resources

	// A topic's or group's name comes behind partition, region and account, and the cluster's name and id.
	maxARN = 55 + 105
)

const split = "split the flow in two, each with a stack of its own"

// topic is one topic of a flow, under the names that it has in the template.
type topic struct {
	Name  string
	ID    string // the end of logical ids
	Group string // the consumer group behind the stack's name
}

// topicsOf names the flow's topics.
func topicsOf(flow config.Flow) ([]topic, error) {
	if n := len(flow.Topics); n > maxTopics {
		return nil, fmt.Errorf("%d topics, and one group of pollers serves %d: %s", n, maxTopics, split)
	}
	var topics []topic
	var problems []error
	owners := map[string]string{}
	for _, name := range flow.Topics {
		t := topic{Name: name, ID: logicalID(name), Group: flow.Name + "-" + name}
		if owner, taken := owners[t.ID]; taken {
			problems = append(problems,
				fmt.Errorf("topics %s and %s would both be %s in the template", owner, name, t.ID))
		}
		owners[t.ID] = name
		if size := maxStack + 1 + len(t.Group); size > maxGroup {
			problems = append(problems,
				fmt.Errorf("topic %s: its consumer group STACK-%s may have %d characters, at most %d", name, t.Group, size, maxGroup))
		}
		topics = append(topics, t)
	}
	if n := len(policies(topics)); n > maxPolicies {
		problems = append(problems, fmt.Errorf("the topics need %d policies, and a role takes %d: %s", n, maxPolicies, split))
	}
	return topics, errors.Join(problems...)
}

// logicalID is the name with letters and digits alone, all that a logical id may hold. Where that changes the name, the
// digest of the name keeps it apart from others of the same letters.
func logicalID(name string) string {
	var b strings.Builder
	for part := range strings.FieldsFuncSeq(name, func(r rune) bool { return strings.ContainsRune("._-", r) }) {
		if b.Len() > 0 {
			part = strings.ToUpper(part[:1]) + part[1:]
		}
		b.WriteString(part)
	}
	if b.String() == name {
		return name
	}
	digest := sha256.Sum256([]byte(name))
	return b.String() + hex.EncodeToString(digest[:4])
}

// policies are the topics in portions that fit into one policy each, however long the names that a deployment adds.
func policies(topics []topic) [][]topic {
	var portions [][]topic
	size := maxPolicySize
	for _, t := range topics {
		needs := len(`"",""`) + 2*maxARN + len(t.Name) + maxStack + 1 + len(t.Group)
		if size+needs > maxPolicySize {
			portions, size = append(portions, nil), policyFrame
		}
		last := len(portions) - 1
		portions[last], size = append(portions[last], t), size+needs
	}
	return portions
}
