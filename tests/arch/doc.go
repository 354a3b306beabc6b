// Package arch holds the rules of the house that a linter cannot say: which way imports go, where drivers and SQL may
// stand, how large things may grow, and what no tree may hold.
//
// Each rule is a function over a parsed tree. TestTree runs them over this one; TestRules shows each of them a tree
// that breaks it, so that no rule can pass by looking at nothing. Files are parsed, never type-checked: the rules hold
// while a package does not compile, and whatever its build tags are. It refuses exceptions by name: where a rule bites
// wrongly, the rule is what changes.
package arch
