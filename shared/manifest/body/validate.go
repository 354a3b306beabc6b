package body

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"tidemark/shared/manifest"
	"tidemark/shared/manifest/document"
	"tidemark/shared/position"
)

// Validate refuses bodies that no backup writes: they contradict themselves, or hold what no database and no log has.
// What a database or an operator may well have said, such as a gap without a reason, is never refused: then there
// would be no backup at all.
func (b Body) Validate() error {
	switch {
	case b.Version != document.Version:
		return fmt.Errorf("body of version %d, want %d", b.Version, document.Version)
	case b.Seq < 1:
		return fmt.Errorf("sequence number %d is below 1", b.Seq)
	}
	return firstOf(
		b.TargetID.Validate, b.Incarnation.Validate, b.Lineage.Validate, b.RunID.Validate,
		b.Snapshot.validate, b.Store.validate, b.Cut.Validate,
		b.validateGaps, b.validateDefinitions, b.validateTables, b.validateObjects, b.validateSequences,
	)
}

func firstOf(checks ...func() error) error {
	for _, check := range checks {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

// maxLine bounds what stands in one line and has no limit of its own. The name of a key in a cloud is the longest.
const maxLine = 2048

func validateOptionalLine(text string) error {
	if text == "" {
		return nil
	}
	return document.ValidateLine(text, maxLine)
}

// lsnPattern is how PostgreSQL prints a pg_lsn.
var lsnPattern = regexp.MustCompile(`^[0-9A-F]{1,8}/[0-9A-F]{1,8}$`)

func (s Snapshot) validate() error {
	switch {
	case s.ServerVersion < 1, s.LedgerVersion < 1:
		return fmt.Errorf("snapshot of server version %d and ledger version %d, want 1 or more", s.ServerVersion,
			s.LedgerVersion)
	case !lsnPattern.MatchString(s.LSN):
		return fmt.Errorf("snapshot at LSN %.80q: want one as in 16/B374D848", s.LSN)
	}
	for _, err := range []error{
		document.ValidateLine(s.SystemIdentifier, maxLine), validateName(s.Database),
		document.ValidateLine(s.Encoding, maxLine), validateOptionalLine(s.Collation), validateName(s.LedgerSchema), document.ValidateMoment(s.Taken),
		validateOptionalLine(s.ClusterID),
	} {
		if err != nil {
			return fmt.Errorf("snapshot: %w", err)
		}
	}
	return nil
}

func (s Store) validate() error {
	if s.Recipients < 0 {
		return fmt.Errorf("store: %d recipients", s.Recipients)
	}
	if !s.LockedUntil.IsZero() {
		if err := document.ValidateMoment(s.LockedUntil); err != nil {
			return fmt.Errorf("store locked until: %w", err)
		}
	}
	if err := validateOptionalLine(s.Encryption); err != nil {
		return fmt.Errorf("store's encryption: %w", err)
	}
	return nil
}

func (b Body) validateGaps() error {
	// Actor, reason and time may differ; the ledger's key is the rest.
	type key struct {
		flow       string
		at         position.Partition
		generation int64
		from       position.Offset
	}
	seen := map[key]bool{}
	for _, g := range b.Gaps {
		k := key{g.Flow, position.Partition{Topic: g.Topic, Number: g.Partition}, g.Generation, g.From}
		if err := errors.Join(validatePlace(g.Flow, k.at), g.validate()); err != nil {
			return fmt.Errorf("gap of %s: %w", k.at, err)
		}
		if seen[k] {
			return fmt.Errorf("gap of %s from %d stands there twice", k.at, g.From)
		}
		seen[k] = true
	}
	return nil
}

func (g Gap) validate() error {
	missing := position.Range{From: g.From, Until: g.Until}
	switch {
	case missing.IsEmpty():
		return fmt.Errorf("range %s is empty", missing)
	case g.Generation < 0:
		return fmt.Errorf("generation %d is below 0", g.Generation)
	case !slices.Contains([]string{"origin", "healed", "accepted", "excluded"}, g.How):
		return fmt.Errorf("%.80q is none of origin, healed, accepted, excluded", g.How)
	}
	return errors.Join(missing.Validate(), document.ValidateMoment(g.At))
}

// validateDefinitions does not ask whether a definition's table is defined too: an extension may have made it.
func (b Body) validateDefinitions() error {
	phases := []Phase{BeforeData, Keys, References, AfterData}
	reached := BeforeData
	for _, d := range b.Definitions {
		phase := slices.Index(phases, d.Phase)
		switch {
		case phase < 0:
			return fmt.Errorf("definition of %.80q: %.80q is no phase", d.Name, d.Phase)
		case phase < slices.Index(phases, reached):
			return fmt.Errorf("definition of %.80q: phase %s after %s", d.Name, d.Phase, reached)
		}
		reached = d.Phase
		if err := d.validate(); err != nil {
			return fmt.Errorf("definition of %.80q: %w", d.Name, err)
		}
	}
	return nil
}

func (d Definition) validate() error {
	if err := document.ValidateLine(d.Kind, maxLine); err != nil {
		return fmt.Errorf("kind: %w", err)
	}
	switch {
	case d.Name == "" || d.SQL == "":
		return fmt.Errorf("%d bytes of name, %d bytes of SQL", len(d.Name), len(d.SQL))
	case strings.Contains(d.Name+d.SQL, "\x00"):
		return fmt.Errorf("it has a zero byte")
	}
	if d.Schema != "" {
		if err := validateName(d.Schema); err != nil {
			return fmt.Errorf("schema: %w", err)
		}
	}
	if d.Table != (Name{}) {
		if err := d.Table.validate(); err != nil {
			return fmt.Errorf("table: %w", err)
		}
	}
	return nil
}

func (b Body) validateTables() error {
	seen := map[Name]bool{}
	for _, t := range b.Tables {
		if err := t.validate(); err != nil {
			return fmt.Errorf("table %.200q: %w", t.Name, err)
		}
		if seen[t.Name] {
			return fmt.Errorf("table %q stands there twice", t.Name)
		}
		seen[t.Name] = true
	}
	return nil
}

// validateObjects refuses two descriptions of the same stored bytes.
func (b Body) validateObjects() error {
	seen := map[manifest.Digest]manifest.Object{}
	for _, t := range b.Tables {
		for _, c := range t.Chunks {
			if known, again := seen[c.Object.Digest]; again && known != c.Object {
				return fmt.Errorf("object %s stands there as two different ones", c.Object.Digest)
			}
			seen[c.Object.Digest] = c.Object
		}
	}
	return nil
}

func (b Body) validateSequences() error {
	seen := map[Name]bool{}
	for _, s := range b.Sequences {
		if err := s.validate(); err != nil {
			return fmt.Errorf("sequence %.200q: %w", s.Name, err)
		}
		if seen[s.Name] {
			return fmt.Errorf("sequence %q stands there twice", s.Name)
		}
		seen[s.Name] = true
	}
	return nil
}

func (s Sequence) validate() error {
	if err := s.Name.validate(); err != nil {
		return err
	}
	switch owned := s.Owner != (Name{}); {
	case s.Increment == 0:
		return fmt.Errorf("it does not move")
	case owned != (s.Column != ""):
		return fmt.Errorf("owner %q and column %q: want both or none", s.Owner, s.Column)
	case owned:
		return errors.Join(s.Owner.validate(), validateName(s.Column))
	}
	return nil
}
