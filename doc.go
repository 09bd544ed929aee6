// Package ringtree is a data layer for server-rendered web apps on a key-value store: no SQL, no
// search engine, and no server to begin with.
//
// It contains no code. This is the map of its packages, which a test in internal/repotest keeps
// complete. docs/internals/architecture.md shows which of them import which:
//
//	example-app   the sample app: main.go wires it, ashiato holds its models
//	examples      runnable examples of everything that records can do
//	inspect       looks at a database, checks, repairs, copies and erases
//	templates     templ components that take plain values
//	guard         protection of a site: time-outs, headers, limits, passwords, look-alike names
//	index         look-up by value: unique, lists, sequences, counters
//	timeline      newest-first rings of records, and events
//	ranking       boards: rankings and sorted indexes
//	  collation   the orders of languages, for boards of text
//	kvmodel       DB and Records: the data class
//	  kv          the contract of every store, keys, trips, and wrappers of stores
//	  codec       called by generated encoders and decoders
//	  memkv       the store in memory, and specification of the contract
//	  boltkv      the embedded store in a file, the default
//	  memcachekv  memcached
//	  rediskv     Redis, Valkey, their clusters and sentinels
//	  nearkv      a cache in front of another store
//	  kvopen      opens a database, or a store, from a URL
//	  kvopen/all  every engine for kvopen
//	  kvsession   gorilla/sessions on any store
//	  kvfault     stores that fail on purpose, for tests and demonstrations
//	  kvtest      the test suite of every store, and a simulator
//	internal      shared by several packages and not visible to apps
//	  plug        the interface between an index class and records
//	  memberlog   lists of ids to which any process can append
//	  envelope    the stored form of a record
//	  bloom       a filter that knows most absent keys
//	  kept        the cache of decoded values in a store
//	  ahead       predicts the records of a page before its index is read
//	  wire        the stored form of numbers and texts
//	  frame       bytes with their checksum
//	  boot        detects that a server has lost its memory
//	  numbering   numbered keys without a counter
//	  tally       counters, and counts and sums that follow lists
//	  work        tasks after replies
//	  lease       the right of one process to do something
//	  contact     whether the servers of a store answer
//	  times       time limits of the protocols between processes
//	  release     the name of the running release
//	  durable     file names that survive a crash of the machine
//	  storeurl    the common parts of store URLs
//	  whole       tests of all index classes together, on kept and on simulated stores
//	  proof       test tools: every order, broken promises, crashes, servers
//	  optest      prints operations and their answers in tests
//	  repotest    tests of the repository: imports, stored keys, docs, the tutorial, a release
//	codegen       load, resolve, check, emit; codegen/kvgen is the command
//	bench         a separate module: writes tables and pictures of the docs, compares with SQL
//	adapters      separate modules: monitoring by OpenTelemetry and Prometheus
//	docs          for users; docs/internals for maintainers, docs/decisions
package ringtree
