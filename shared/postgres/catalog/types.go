package catalog

import (
	"fmt"
	"strconv"
	"strings"

	"tidemark/shared/change"
)

// pgType is a row of pg_type.
type pgType struct {
	oid, name, schema, kind, category, base string
	modifier                                int // of a domain's base
	element                                 string
	printed                                 string // as format_type prints it, without modifier
	equal                                   bool
	operator                                string // of equality, with its schema
	castByFunction                          bool   // a function casts text to it, and none bpchar
}

// builtInEquality serves all types without an operator of their own: strings, enums, arrays, ranges and composites.
const builtInEquality = "OPERATOR(pg_catalog.=)"

func readTypes(rows Rows) (map[string]pgType, error) {
	types := make(map[string]pgType, len(rows))
	for _, row := range rows {
		modifier, err := strconv.Atoi(string(row[6]))
		if err != nil {
			return nil, fmt.Errorf("modifier of a type: %w", err)
		}
		t := pgType{
			oid: string(row[0]), name: string(row[1]), schema: string(row[2]), kind: string(row[3]),
			category: string(row[4]), base: string(row[5]), modifier: modifier, element: string(row[7]),
			printed: string(row[8]), equal: string(row[9]) == "true", operator: string(row[10]),
			castByFunction: string(row[11]) == "true",
		}
		if t.operator == "" {
			t.operator = builtInEquality
		}
		types[t.oid] = t
	}
	return types, nil
}

// fromText is what a text is cast to so that the type's own input function reads it.
func (t pgType) fromText() string {
	if t.castByFunction {
		return "pg_catalog.bpchar::" + t.printed
	}
	return t.printed
}

// baseOf follows domains down to the type whose input function reads the text, with the modifier that applies there.
func baseOf(oid string, modifier int, types map[string]pgType) (pgType, int, error) {
	t, ok := types[oid]
	for ok && t.kind == "d" {
		if modifier < 0 {
			modifier = t.modifier
		}
		t, ok = types[t.base]
	}
	if !ok {
		return t, 0, fmt.Errorf("type %s is not in the answer", oid)
	}
	return t, modifier, nil
}

// hasEquality says whether values of the type can be compared by IS NOT DISTINCT FROM. An array can if its elements can.
func hasEquality(t pgType, types map[string]pgType) bool {
	if t.category != "A" {
		return t.equal
	}
	element, _, err := baseOf(t.element, -1, types)
	return err == nil && hasEquality(element, types)
}

// describe says what the wire forms of a type's values hang on.
func describe(t pgType, modifier int, types map[string]pgType) (change.Type, error) {
	described := change.Type{Kind: kindOf(t), Name: t.printed}
	switch kind := described.Kind; {
	case kind == change.KindArray:
		element, elementModifier, err := baseOf(t.element, modifier, types)
		if err != nil {
			return described, err
		}
		inner, err := describe(element, elementModifier, types)
		if err != nil {
			return described, err
		}
		described.Elem = &inner
	case kind == change.KindNumeric:
		described.Scale, described.HasScale = numericScale(modifier)
	case kind >= change.KindTime && kind <= change.KindTimestampTZ:
		described.Precision = secondsPrecision(modifier)
	case kind == change.KindBit || kind == change.KindVarBit:
		described.Length = max(0, modifier)
	}
	return described, nil
}

const (
	modifierHeader  = 4 // bytes that varlena modifiers are larger by
	scaleBits       = 0x7ff
	scaleSign       = 0x400
	defaultFraction = 6
)

// equalityOf says when two texts of a base type are one value. A text with a modifier may lose trailing blanks on its
// way in, and a collation may hold different texts equal.
func equalityOf(t pgType, modifier int, deterministic bool) change.Equality {
	switch {
	case t.kind == "e":
		return change.EqualityText
	case t.schema != "pg_catalog":
		return change.EqualityUnknown
	}
	switch t.name {
	case "int2", "int4", "int8", "oid":
		return change.EqualityInteger
	case "uuid":
		return change.EqualityUUID
	case "text", "varchar":
		if deterministic && modifier < 0 {
			return change.EqualityText
		}
	}
	return change.EqualityUnknown
}

// numericScale unpacks a numeric's modifier. The scale is an 11-bit two's complement, so numeric(5,-2) is 2046 there.
func numericScale(modifier int) (scale int, has bool) {
	if modifier < modifierHeader {
		return 0, false
	}
	return ((modifier-modifierHeader)&scaleBits ^ scaleSign) - scaleSign, true
}

func secondsPrecision(modifier int) int {
	if modifier < 0 {
		return defaultFraction
	}
	return modifier
}

// kindOf groups a base type. Types of extensions are known by name, whatever schema they live in.
func kindOf(t pgType) change.Kind {
	if t.category == "A" && t.element != "0" && strings.HasPrefix(t.name, "_") {
		return change.KindArray
	}
	if t.kind == "b" && t.name == "hstore" {
		return change.KindHStore
	}
	if t.schema != "pg_catalog" {
		return change.KindOther
	}
	return builtinKinds()[t.name]
}

func builtinKinds() map[string]change.Kind {
	return map[string]change.Kind{
		"bool": change.KindBool,
		"int2": change.KindInteger, "int4": change.KindInteger, "int8": change.KindInteger, "oid": change.KindInteger,
		"float4": change.KindFloat, "float8": change.KindFloat,
		"numeric": change.KindNumeric, "money": change.KindMoney, "bytea": change.KindBytea,
		"date": change.KindDate, "time": change.KindTime, "timetz": change.KindTimeTZ,
		"timestamp": change.KindTimestamp, "timestamptz": change.KindTimestampTZ, "interval": change.KindInterval,
		"json": change.KindJSON, "jsonb": change.KindJSON,
		"bit": change.KindBit, "varbit": change.KindVarBit, "point": change.KindPoint,
	}
}

func splitNumbers(text []byte) []string { return strings.Fields(string(text)) }
