//go:build integration

package main

import (
	"fmt"
	"strings"
)

// deployment fills a template in as the service does: parameters, the account's own names, conditions and functions.
// What it does not know, and what exists only after the deployment, becomes a text in parentheses.
type deployment struct {
	values     map[string]any
	conditions map[string]any
}

// noValue stands for AWS::NoValue: whatever holds it goes away.
type noValue struct{}

func deploymentOf(parameters map[string]parameter, conditions map[string]any, given map[string]any) deployment {
	d := deployment{conditions: conditions, values: map[string]any{
		"AWS::StackName": "stack", "AWS::Partition": "aws", "AWS::Region": "eu-central-1", "AWS::AccountId": "111122223333",
		"AWS::NoValue": noValue{},
	}}
	for name, p := range parameters {
		value, ok := given[name]
		if !ok {
			value = p.Default
		}
		if text, isText := value.(string); isText && p.Type == "CommaDelimitedList" {
			value = list(strings.Split(text, ","))
		}
		d.values[name] = value
	}
	return d
}

func list(texts []string) []any {
	values := make([]any, len(texts))
	for i, text := range texts {
		values[i] = text
	}
	return values
}

// resolve gives the value with every function in it carried out.
func (d deployment) resolve(value any) any {
	switch v := value.(type) {
	case []any:
		var resolved []any
		for _, element := range v {
			if r := d.resolve(element); r != any(noValue{}) {
				resolved = append(resolved, r)
			}
		}
		return resolved
	case map[string]any:
		if len(v) == 1 {
			for name, argument := range v {
				if name == "Ref" || strings.HasPrefix(name, "Fn::") {
					return d.call(name, argument)
				}
			}
		}
		resolved := map[string]any{}
		for name, member := range v {
			if r := d.resolve(member); r != any(noValue{}) {
				resolved[name] = r
			}
		}
		return resolved
	}
	return value
}

func (d deployment) call(name string, argument any) any {
	arguments, _ := argument.([]any)
	switch name {
	case "Ref":
		return d.reference(fmt.Sprint(argument))
	case "Fn::GetAtt":
		return fmt.Sprintf("(%v)", strings.Trim(strings.ReplaceAll(fmt.Sprint(argument), " ", "."), "[]"))
	case "Fn::Sub":
		return d.substitute(argument)
	case "Fn::Join":
		parts, _ := d.resolve(arguments[1]).([]any)
		return join(fmt.Sprint(arguments[0]), parts)
	case "Fn::Split":
		return list(strings.Split(fmt.Sprint(d.resolve(arguments[1])), fmt.Sprint(arguments[0])))
	case "Fn::Select":
		index, _ := arguments[0].(float64)
		of, _ := d.resolve(arguments[1]).([]any)
		if int(index) < len(of) {
			return of[int(index)]
		}
	case "Fn::If":
		if d.holds(d.conditions[fmt.Sprint(arguments[0])]) {
			return d.resolve(arguments[1])
		}
		return d.resolve(arguments[2])
	}
	return fmt.Sprintf("(%s %v)", name, argument)
}

func join(separator string, parts []any) string {
	texts := make([]string, len(parts))
	for i, part := range parts {
		texts[i] = fmt.Sprint(part)
	}
	return strings.Join(texts, separator)
}

// reference is the value of a parameter or pseudo parameter; a resource's comes after the deployment.
func (d deployment) reference(name string) any {
	if value, ok := d.values[name]; ok {
		return value
	}
	return "(" + name + ")"
}

// substitute replaces each ${NAME}.
func (d deployment) substitute(argument any) string {
	var b strings.Builder
	rest, _ := argument.(string)
	for {
		before, after, found := strings.Cut(rest, "${")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		name, tail, _ := strings.Cut(after, "}")
		fmt.Fprint(&b, d.reference(name))
		rest = tail
	}
}

// holds evaluates a condition.
func (d deployment) holds(condition any) bool {
	functions, _ := condition.(map[string]any)
	for name, argument := range functions {
		arguments, _ := argument.([]any)
		switch {
		case name == "Fn::Not" && len(arguments) == 1:
			return !d.holds(arguments[0])
		case name == "Fn::Equals" && len(arguments) == 2:
			return fmt.Sprint(d.resolve(arguments[0])) == fmt.Sprint(d.resolve(arguments[1]))
		}
	}
	panic(fmt.Sprintf("condition %v is not understood", condition))
}
