// Package ringtree is a data layer for server-rendered web apps on a key-value
// store alone: no SQL, no search module, no server needed to start.
//
// This package holds no code. It is the map of the rooms. internal/repotest keeps the map
// true and checks which rooms each may import; docs/internals/architecture.md draws them by height:
//
//	example-app   the sample app: main.go wires, its domain package holds the models
//	examples      what records can do, as runnable examples
//	inspect       sees, checks, mends, moves and erases what a database holds
//	templates     templ components that take plain values
//	guard         what keeps a site from harm: time-outs, headers, limits, names that look alike
//	index         look-up by value: unique, lists, sequences, counters
//	timeline      newest-first rings of records, and events kept in a ring
//	ranking       boards: access rankings and sorted indexes
//	  collation   the orders of languages, for boards of words
//	kvmodel       DB and Records: the data class
//	  kv          the contract of every store, keys, trips, and wrappers of stores
//	  codec       what generated encoders and decoders call
//	  memkv       the reference store: the specification of the contract, in memory
//	  boltkv      the embedded store, the default
//	  memcachekv  memcached
//	  rediskv     Redis, Valkey, their clusters and sentinels
//	  nearkv      what a process has read of another store
//	  kvopen      a database, or a store, from a URL
//	  kvopen/all  every engine for kvopen
//	  kvsession   gorilla/sessions on any store
//	  kvfault     stores that fail on purpose, for tests and demonstrations
//	  kvtest      the suite every store passes; the simulator
//	internal      what several rooms share and no app sees
//	  plug        how an index class is plugged into records
//	  memberlog   lists of ids that any process appends to
//	  envelope    what is stored under a record's key
//	  bloom       a filter of keys, which says of most others that they were never added
//	  kept        the cache of stores that keep what was read, decoded
//	  ahead       how a page asks for its records before it knows them
//	  wire        how numbers and texts are stored
//	  frame       bytes with their checksum
//	  boot        what tells a store on servers that one has lost its memory
//	  numbering   rows of numbered keys without a counter
//	  contact     whether the servers of a store answer
//	  times       how long the steps of protocols between processes may take
//	  release     which release of itself a program is
//	  durable     names of files that a crash of the machine does not take back
//	  storeurl    what the URLs of stores have in common
//	  whole       every index class at once: stores that were kept, and an oracle
//	  proof       tools that prove protocols: every order, broken promises, crashes, servers
//	  optest      how tests show an operation and its answer
//	  repotest    tests of the repository: imports, stored keys, docs, the tutorial, a release
//	codegen       load, resolve, check, emit; codegen/kvgen is the command
//	bench         a module of its own: what writes tables and pictures into docs, the comparison with peers
//	adapters      modules of their own: what a database does, for OpenTelemetry and Prometheus
//	docs          for users; docs/internals for maintainers, docs/decisions
package ringtree
