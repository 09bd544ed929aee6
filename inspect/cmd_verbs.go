package inspect

import (
	"context"
	"slices"
	"strings"
)

// verb is one of the command's.
type verb struct {
	name  string
	args  string // as help shows them
	does  string // in a line
	flags string // their names, with blanks between them
	text  string // what else help says

	least, most int  // arguments
	quick       bool // opening the store may not take long either
	bare        bool // it opens no store
	run         func(ctx context.Context, c *call) error
}

// takes returns the names of the flags of v. Those that name the store go with any verb, so
// that they can be part of an alias.
func (v verb) takes() []string { return append(strings.Fields(v.flags), "store", "tenant") }

// needs returns the names of the flags that mean something to v.
func (v verb) needs() []string {
	if v.bare {
		return strings.Fields(v.flags)
	}
	return v.takes()
}

// room is a heading of help, with its verbs.
type room struct {
	title string
	verbs []verb
}

// rooms returns all verbs.
func rooms() []room {
	return []room{
		{"See what is there", lookVerbs},
		{"Trust it", trustVerbs},
		{"Build and mend", mendVerbs},
		{"Move it", moveVerbs},
		{"Erase", eraseVerbs},
		{"Processes and servers", processVerbs},
		{"The file of a bolt store", fileVerbs},
		{"This command", helpVerbs()},
	}
}

var lookVerbs = []verb{
	{name: "status", flags: "json watch", quick: true, run: status,
		does: "how the database is, on one screen, and what to do next",
		text: "Numbers with a ~ are about right: ids of deleted records count, and the bytes are those of a sample."},
	{name: "ls", args: "[MODEL[.INDEX]]", most: 1, flags: "json top rate sample", quick: true, run: ls,
		does: "the models; the indexes of one; the values of an index that take most",
		text: "For an index it goes through all keys of the store, and reads those of the index, or with --sample 1% one in a hundred of these: numbers with a ~ are about right then. --top is 20 unless it is given."},
	{name: "get", args: "MODEL ID", least: 2, most: 2, flags: "json private", quick: true, run: get,
		does: "a record, field by field, and where each index has it",
		text: "An id of several parts is written with a colon between them."},
	{name: "find", args: "MODEL.INDEX VALUE", least: 2, most: 2, flags: "json private", quick: true, run: find,
		does: "the records that an index has at a value, at most a hundred",
		text: "A value of several parts is written with a slash between them."},
	{name: "page", args: "MODEL.INDEX[/VALUE] [N]", least: 1, most: 2, flags: "json", quick: true, run: page,
		does: "what a visitor gets of an index: the first N, or 20"},
	{name: "key", args: "KEY", least: 1, most: 1, flags: "json hex private", quick: true, run: key,
		does: "what a key of the store holds, and whose it is"},
	{name: "sizes", flags: "json top rate", run: sizes,
		does: "how many keys and bytes each part of the store takes",
		text: "It reads the whole store."},
	{name: "hot", flags: "json top for private app", run: hot,
		does: "which keys the running app asks for most",
		text: "The app counts, so it has to call inspect.Serve. What it has in memory does not count. --top is 20 unless it is given. Keys that would show a private field are *** without --private."},
}

var trustVerbs = []verb{
	{name: "check", args: "[MODEL[.INDEX]]", most: 1, flags: "json quick rate resume", run: check,
		does: "look whether all records and all indexes agree",
		text: "It goes from the records to the indexes, and from the keys of the store back to the records. It writes nothing, and the app may go on."},
	{name: "doctor", flags: "json", quick: true, run: doctor,
		does: "look at the store and its settings for what will hurt one day",
		text: "What a crash takes, what happens when memory or disk are full, replicas, TLS, clocks, and how long a trip takes. What it cannot look at is \"unknown\"."},
}

var mendVerbs = []verb{
	{name: "repair", args: "[MODEL[.INDEX]]", most: 1, flags: "json only rate yes dry-run", run: repair,
		does: "check, and mend what that finds",
		text: "KIND is one of " + strings.Join(kindNames(), ", ") + "."},
	{name: "build", args: "[MODEL]", most: 1, flags: "again yes dry-run", run: build,
		does: "build the indexes that do not hold all records yet",
		text: "It waits for processes that write a model with other indexes, and names them. A build that was stopped goes on where it was."},
	{name: "rescue", flags: "rate yes dry-run", run: rescue,
		does: "make what can be made of a database that has lost a part",
		text: "It accepts what is lost, names all records again that are left, and builds all indexes. A check says what is gone."},
	{name: "accept", flags: "yes dry-run", run: accept,
		does: "say that it is known which servers have lost their memory",
		text: "It says first what that is. Afterwards indexes have to be built."},
}

var moveVerbs = []verb{
	{name: "export", args: "FILE", least: 1, most: 1, flags: "json jsonl csv only private rate dry-run", run: export,
		does: "write what the database knows to a new file, for any kind of store, or to the output if that is -",
		text: "Records with their revs, ends, counters and histories, what belongs to no record, and sessions. Indexes are built by import. " +
			"With --csv or --jsonl it writes tables for people, spreadsheets and SQL, which import does not read: FILE is a folder then, with a table for each model, or with --only MODEL the table of that one. Private fields are *** in them without --private."},
	{name: "import", args: "FILE", least: 1, most: 1, flags: "json rate merge replace yes dry-run", run: importAll,
		does: "put what export has written into an empty database, and build the indexes",
		text: "With --merge it need not be empty: of two records with one id the one with the higher rev stays, and of anything else that which is there. With --replace it holds what was imported afterwards, and nothing else."},
	{name: "copy", args: "URL", least: 1, most: 1, flags: "json rate merge replace to-tenant yes dry-run", run: copyAll,
		does: "put what the database holds into the store that URL names",
		text: "The app may go on, if it calls inspect.Serve or its store is on servers; then each record is copied as it is at some moment of the copy. With --replace a later copy writes what has changed, and deletes what is gone."},
	{name: "diff", args: "URL|FILE", least: 1, most: 1, flags: "json rate to-tenant", run: diff,
		does: "compare what the database knows with another store, or with an export"},
	{name: "verify-export", args: "FILE", least: 1, most: 1, bare: true, run: verifyExport,
		does: "read an export, and say whether it is whole, or where it is not"},
	{name: "resave", args: "MODEL", least: 1, most: 1, flags: "json rate resume yes dry-run", run: resave,
		does: "write the records again that an earlier version of a model has written",
		text: "Afterwards the app no longer needs to know that version. --dry-run tries that all can be upgraded."},
}

var eraseVerbs = []verb{
	{name: "sweep", args: "[WHAT]", most: 1, flags: "json rate yes dry-run", run: sweep,
		does: "delete what no model has any more: removed models, indexes and counters",
		text: "It says first what that is."},
	{name: "forget", args: "MODEL ID", least: 2, most: 2, flags: "json rate report yes dry-run", run: forget,
		does: "erase a record, such as a person, and say what still names it",
		text: "It looks through the keys and values of the whole store. --report writes down what was done."},
}

var processVerbs = []verb{
	{name: "ps", flags: "json", quick: true, run: ps,
		does: "the processes that write, or that died before they were done"},
	{name: "intents", flags: "json private", quick: true, run: intents,
		does: "the intents that have begun and have not ended, the oldest first",
		text: "One that has ended a moment ago may still be among them. The app carries them out by itself: this command does not know how. --private shows their args."},
	{name: "drain", args: "[PROCESS]", most: 1, flags: "yes dry-run", run: drain,
		does: "finish what dead processes have left half done",
		text: "Any process of the app does that by itself. A process is dead if it has shown no sign for half a minute."},
}

var fileVerbs = []verb{
	{name: "backup", args: "FILE", least: 1, most: 1, flags: "dry-run", run: backup,
		does: "write all there is to a new file, or to the output if that is -",
		text: "The app may go on, if it calls inspect.Serve; otherwise no other process may have the store open. A store that is shipped (ship=DIR in its URL) needs no backup: restore takes what was shipped."},
	{name: "verify-backup", args: "URL|FILE", least: 1, most: 1, flags: "rate", bare: true, run: verifyBackup,
		does: "read a backup, and say whether it is whole",
		text: "A backup that is not of a file is restored to a store of its own first, and URL names that: all of it is checked, and nothing is written."},
	{name: "restore", args: "FILE|DIR PATH", least: 2, most: 2, flags: "until dry-run", bare: true, run: restore,
		does: "make a store at PATH of a backup, or of what was shipped to DIR",
		text: "There must be nothing at PATH. --until is for what was shipped."},
	{name: "compact", args: "PATH", least: 1, most: 1, flags: "dry-run", bare: true, run: compact,
		does: "rewrite the file at PATH without its unused space",
		text: "No process may have the file open. The new file takes the place of the old one at once, whatever happens."},
}

// helpVerbs are a function, since they tell of all verbs.
func helpVerbs() []verb {
	return []verb{
		{name: "help", args: "[VERB]", most: 1, bare: true, run: help,
			does: "the verbs, or one of them"},
		{name: "completion", args: "bash|zsh|fish", least: 1, most: 100, bare: true, run: completion,
			does: "a script with which a shell completes verbs, models and indexes"},
	}
}

func allVerbs() (all []verb) {
	for _, r := range rooms() {
		all = append(all, r.verbs...)
	}
	return all
}

// verbOf returns the verb of that name.
func verbOf(name string) (verb, error) {
	all := allVerbs()
	if i := slices.IndexFunc(all, func(v verb) bool { return v.name == name }); i >= 0 {
		return all[i], nil
	}
	return verb{}, unknown("verb", name, verbNames())
}

func verbNames() (names []string) {
	for _, v := range allVerbs() {
		names = append(names, v.name)
	}
	return names
}

// kindNames returns the kinds of faults as --only takes them.
func kindNames() (names []string) {
	for _, kind := range Kinds {
		names = append(names, strings.ReplaceAll(kind, " ", "-"))
	}
	return names
}
