// Package reach owns how Kafka brokers are reached and what their refusals mean: addresses, TLS, mutual TLS, the ways to
// log in, and the table that gives each error its fault class.
//
// It refuses to speak in the clear to another machine unless that is called development, also when a broker names that
// machine, and to show a password to a connection without TLS. It opens no connection: clients do, with its options.
//
// Secrets are asked for at each connection and kept nowhere. Everything is safe for concurrent use.
package reach
