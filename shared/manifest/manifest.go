// Package manifest owns the small document that makes a backup, the statement, and how objects are named in it and in
// the body that it vouches for (package body).
//
// A statement says whose backup it is, which one, and what its body's bytes are; it is what is signed. Objects are
// named by the SHA-256 of their stored bytes. It refuses to judge whether a manifest may be used: signatures are for
// package signing, completeness and freshness for package archive. No I/O, no clock. Values are plain and may be
// shared once made.
package manifest
