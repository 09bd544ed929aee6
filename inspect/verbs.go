package inspect

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ringtree/ringtree/inspect/internal/console"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kvopen"
)

type verb struct {
	use   string // as shown by help
	short string
	long  string
	calls string // examples, one a line, without the name of the command
	flags string // names, separated by blanks
	args  cobra.PositionalArgs

	quick bool               // opening the store has a timeout
	local func(c *call) bool // reports whether the call needs no app; nil: it does
	run   func(ctx context.Context, c *call) error
}

func (v *verb) name() string {
	name, _, _ := strings.Cut(v.use, " ")
	return name
}

func always(*call) bool { return true }

// The headings of help.
const (
	looking = "Look:"
	repairs = "Check and repair:"
	moving  = "Move and back up:"
	erasing = "Erase:"
)

var verbs = map[string][]verb{
	looking: {
		{use: "status", args: cobra.NoArgs, flags: "format watch deep private", quick: true, run: status,
			calls: "status --deep\nstatus --watch",
			short: "Show the health of the database, and what to do next",
			long:  "Lists models, indexes, processes and unfinished intents. Numbers with a ~ are estimates: they count deleted records, and sizes come from a sample.\n\n--deep also checks the store and its settings for risks: losses in a crash, full memory or disk, replicas, TLS, clocks, and tags that do not fit the data."},
		{use: "ls [MODEL[.INDEX]]", args: cobra.MaximumNArgs(1), flags: "format sizes rate", quick: true, run: ls,
			calls: "ls\nls Page\nls Page.ByTopics\nls --sizes",
			short: "List models, the indexes of one, or the largest values of an index",
			long:  "--sizes shows the keys and bytes of each part of the store. It reads the whole store, as the list of an index does."},
		{use: "get {MODEL ID | --key KEY}", args: cobra.MaximumNArgs(2), flags: "format key private", quick: true, run: get,
			calls: "get Page p1\nget --key r:Page:p1",
			short: "Show a record and its places in the indexes, or the content of a key",
			long:  "Write a colon between the parts of an ID. --private shows private fields, and the stored bytes of a key."},
		{use: "list MODEL.INDEX[/VALUE] [N]", args: cobra.RangeArgs(1, 2), flags: "format", quick: true, run: list,
			calls: "list Page.Newest\nlist Page.ByTopics/snow 5",
			short: "List the first N entries of an index, or 20, as a visitor sees them",
			long:  "Write a slash between the parts of a value."},
	},
	repairs: {
		{use: "check [MODEL[.INDEX]]", args: cobra.MaximumNArgs(1), flags: "format quick repair rate resume yes dry-run", run: check,
			calls: "check --rate 2000\ncheck --repair Page",
			short: "Compare all records with all indexes; --repair fixes the differences",
			long:  "Compares in both directions, and only reads. The app may run meanwhile. --repair first finishes the changes of dead processes, then lists all faults, asks, and repairs them."},
		{use: "build [MODEL]", args: cobra.MaximumNArgs(1), flags: "again resave rate resume yes dry-run", run: build,
			calls: "build Page\nbuild Page --resave --dry-run",
			short: "Build indexes that are incomplete",
			long:  "Waits for processes that write the model with other indexes, and names them. An interrupted build continues.\n\n--resave instead rewrites the records of MODEL that an older version of it wrote, so that the code for that version can go."},
		{use: "recover", args: cobra.NoArgs, flags: "format rate yes dry-run", run: recoverAll,
			short: "Recover from data loss, step by step",
			long:  "Acknowledges the loss, lists the surviving records again, builds all indexes, and repairs the rest. Names the effect and the losses of each step, and asks before it. After an interruption, run it again: it skips finished steps."},
	},
	moving: {
		{use: "export FILE [MODEL]...", args: cobra.MinimumNArgs(1), flags: "format private rate dry-run", run: export,
			calls: "export app.export\nexport pages.csv Page --format csv",
			short: "Export all records to a file, for a store of any kind",
			long:  "Writes records, counters, histories, events and sessions; import builds the indexes. FILE may be - for the output.\n\n--format csv or jsonl writes tables for people, spreadsheets and SQL, which import does not read: FILE is a folder with a table per model, or the table of the one MODEL. Private fields are *** without --private."},
		{use: "import FILE", args: cobra.ExactArgs(1), flags: "mode format rate yes dry-run", run: importAll,
			calls: "import app.export\nimport app.export --mode merge --yes",
			short: "Import an export into an empty database, and build the indexes",
			long:  "--mode merge keeps existing data: of two records with one ID, the one with the higher rev. --mode replace makes the database hold the export, and nothing else."},
		{use: "copy URL", args: cobra.ExactArgs(1), flags: "mode to-tenant format rate yes dry-run", local: always, run: copyAll,
			calls: "--store bolt:app.db copy redis://127.0.0.1:6379/0\ncopy redis://127.0.0.1:6379/0 --dry-run",
			short: "Copy the database into another store; --dry-run compares the two",
			long:  "The app may run meanwhile: each record is copied as it is at some moment. A later --mode replace brings the copy up to date."},
		{use: "backup FILE", args: cobra.ExactArgs(1), flags: "dry-run", run: backup,
			short: "Back up a bolt file",
			long:  "The app may run meanwhile if it calls inspect.Serve. FILE may be - for the output. A store with ship=DIR in its URL needs no backup."},
		{use: "restore {FILE|DIR} PATH", args: cobra.ExactArgs(2), flags: "until dry-run", local: always, run: restore,
			calls: "restore app.backup new.db\nrestore shipped/ new.db --until 2026-03-01T12:00:00Z",
			short: "Restore a backup, or the shipped folder DIR, to a new file at PATH"},
		{use: "verify [FILE|URL]", args: cobra.MaximumNArgs(1), flags: "against format rate", local: (*call).verifiesFile, run: verify,
			calls: "verify app.backup\nverify redis://127.0.0.1:7792/0\nverify --against app.export",
			short: "Verify a backup, an export, or a store restored from a dump",
			long:  "--against EXPORT compares the database, or the one at URL, with an export."},
		{use: "compact PATH", args: cobra.ExactArgs(1), flags: "dry-run", local: always, run: compact,
			short: "Rewrite a bolt file without its free space",
			long:  "No process may have the file open. The new file replaces the old one in one step."},
	},
	erasing: {
		{use: "sweep [WHAT]", args: cobra.MaximumNArgs(1), flags: "format rate yes dry-run", run: sweep,
			short: "Delete the data of removed models, indexes and counters"},
		{use: "forget MODEL ID [VALUE]...", args: cobra.MinimumNArgs(2), flags: "format rate yes dry-run", run: forget,
			short: "Erase a record, such as a person, and list its remaining traces",
			calls: "forget Member m1\nforget Member m1 jane@example.org",
			long:  "Afterwards it searches the whole store for the ID, the unique values and each VALUE. The unique values are known only until the record is erased: pass them to a later search. Numbers and short values also match by chance: each trace names its field."},
	},
}

type options struct {
	storeURL, tenant, toTenant, format, key, mode, against, resume string

	private, watch, deep, sizes, quick, repair, yes, dry, anew, resave bool

	rate  int
	until time.Time
}

func (o *options) json() bool { return o.format == "json" }

func (o *options) isTable() bool { return o.format == "csv" || o.format == "jsonl" }

type choice struct {
	value *string
	of    []string
}

func (c choice) String() string { return *c.value }
func (c choice) Type() string   { return strings.Join(c.of, "|") }

func (c choice) Set(value string) error {
	if !slices.Contains(c.of, value) {
		return fmt.Errorf("want one of %s", strings.Join(c.of, ", "))
	}
	*c.value = value
	return nil
}

func (o *options) flags() *pflag.FlagSet {
	f := pflag.NewFlagSet("", pflag.ContinueOnError)
	f.StringVar(&o.storeURL, "store", "", "the store's `URL` (default $"+storeVariable+")")
	f.StringVar(&o.tenant, "tenant", "", "the tenant's `NAME`, if several share the store")
	f.StringVar(&o.toTenant, "to-tenant", "", "the tenant's `NAME` in the other store (default: the same)")
	f.Var(choice{&o.format, []string{"json", "jsonl", "csv"}}, "format", "json: print one object per line; jsonl and csv: export tables")
	f.StringVar(&o.key, "key", "", "show the content of this `KEY` of the store")
	f.BoolVar(&o.private, "private", false, "show private fields")
	f.BoolVar(&o.watch, "watch", false, "repeat every two seconds, until Ctrl-C")
	f.BoolVar(&o.deep, "deep", false, "also check the store and its settings for risks")
	f.BoolVar(&o.sizes, "sizes", false, "show the size of each part")
	f.BoolVar(&o.quick, "quick", false, "check one record in a hundred, and no keys")
	f.BoolVar(&o.repair, "repair", false, "repair the differences")
	f.BoolVar(&o.anew, "again", false, "build complete indexes, too")
	f.BoolVar(&o.resave, "resave", false, "rewrite records of older versions of the model")
	f.Var(choice{&o.mode, []string{"merge", "replace"}}, "mode", "keep existing records, or make the database equal to the source")
	f.StringVar(&o.against, "against", "", "compare with this `EXPORT`")
	f.TimeVar(&o.until, "until", time.Time{}, []string{time.RFC3339Nano}, "restore the state at this `TIME`, such as 2026-03-01T12:00:00Z")
	f.IntVar(&o.rate, "rate", 0, "read at most `N` records or keys a second")
	f.StringVar(&o.resume, "resume", "", "continue at this `LINE`, printed by an interrupted call")
	f.BoolVar(&o.yes, "yes", false, "do not ask")
	f.BoolVar(&o.dry, "dry-run", false, "show the effect, and write nothing")
	return f
}

// After help was asked for and written, there is no verb to run.
func (c *call) parse(ctx context.Context) error {
	cmd, err := c.root().ExecuteContextC(ctx)
	if c.path = cmd.CommandPath(); err != nil {
		return fmt.Errorf("%w: %w", errCall, err)
	}
	return nil
}

// Executing root notes the verb.
func (c *call) root() *cobra.Command {
	root := &cobra.Command{
		Use: c.Name, Annotations: map[string]string{cobra.CommandDisplayNameAnnotation: c.Name},
		Short: "Inspect, check, repair, move and erase the data of this app", Long: c.about(),
		SilenceErrors: true, SilenceUsage: true,
	}
	root.CompletionOptions.DisableDefaultCmd = strings.Contains(c.Name, " ") // A script completes words of a program.
	root.SetArgs(append([]string{}, c.Args...))
	root.SetOut(c)
	root.SetErr(c.Errors())
	flags := c.flags()
	root.PersistentFlags().AddFlag(flags.Lookup("store"))
	root.PersistentFlags().AddFlag(flags.Lookup("tenant"))
	for _, title := range []string{looking, repairs, moving, erasing} {
		root.AddGroup(&cobra.Group{ID: title, Title: title})
		for _, v := range verbs[title] {
			root.AddCommand(c.cobra(title, v, flags))
		}
	}
	return root
}

func (c *call) cobra(title string, v verb, flags *pflag.FlagSet) *cobra.Command {
	cmd := &cobra.Command{
		Use: v.use, Short: v.short, Long: strings.TrimSpace(v.short + ".\n\n" + v.long), GroupID: title, DisableFlagsInUseLine: true,
		Args: func(cmd *cobra.Command, args []string) error {
			if v.args(cmd, args) != nil {
				return fmt.Errorf("%s; the command is: %s %s", console.Some(len(args), "argument", "arguments"), c.Name, v.use)
			}
			return nil
		},
		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			return c.complete(cmd.Context(), v, len(args))
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			c.verb, c.args = v, args
			cmd.Flags().Visit(c.keepFlag)
			if c.isTable() && v.name() != "export" {
				return fmt.Errorf("--format %s is for export", c.format)
			}
			return nil
		},
	}
	for call := range strings.Lines(v.calls) {
		cmd.Example += "  " + c.Name + " " + call
	}
	cmd.Flags().SortFlags = false
	for _, name := range strings.Fields(v.flags) {
		cmd.Flags().AddFlag(flags.Lookup(name))
	}
	return cmd
}

// keepFlag keeps a flag for the command line that continues.
func (c *call) keepFlag(f *pflag.Flag) {
	switch {
	case f.Name == "resume":
	case f.Value.Type() == "bool":
		c.given = append(c.given, "--"+f.Name)
	default:
		c.given = append(c.given, "--"+f.Name+"="+f.Value.String())
	}
}

func (c *call) about() string {
	own := ""
	if c.URL != "" {
		own = ", or else " + shownURL(c.URL)
	}
	return "--store or $" + storeVariable + " names the store" + own + `.
Verbs that write ask first, unless --yes is given; --dry-run writes nothing.

Exit codes: 0 success, 1 a problem or a missing record, 2 wrong usage,
3 store unreachable, 4 stopped and resumable, 5 refused.`
}

func (c *call) complete(ctx context.Context, v verb, i int) ([]string, cobra.ShellCompDirective) {
	args := strings.Fields(v.use)[1:]
	if i >= len(args) {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	arg := strings.Trim(args[i], "[]{}.")
	if !strings.HasPrefix(arg, "MODEL") {
		return nil, cobra.ShellCompDirectiveDefault
	}
	models, indexes, err := c.named(ctx)
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	switch arg {
	case "MODEL":
		indexes = nil
	case "MODEL.INDEX[/VALUE":
		models = nil
	}
	return append(models, indexes...), cobra.ShellCompDirectiveNoFileComp
}

// named needs no store.
func (c *call) named(ctx context.Context) (models, indexes []string, err error) {
	s, err := kvopen.Store(ctx, "mem:")
	if err != nil {
		return nil, nil, err
	}
	db, err := kvmodel.Open(s, kvmodel.ReadOnly())
	if err != nil {
		return nil, nil, err
	}
	defer db.Close(ctx)
	c.Models(db)
	in := New(db)
	for _, m := range in.models {
		for _, w := range m.windows {
			indexes = append(indexes, m.Name()+"."+w.Name())
		}
	}
	for _, w := range in.alone {
		indexes = append(indexes, w.Name())
	}
	return in.names(), indexes, nil
}

func (c *call) arg(i int) string {
	if i < len(c.args) {
		return c.args[i]
	}
	return ""
}
