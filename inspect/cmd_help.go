package inspect

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kvopen"
)

// help tells of all verbs, or of one.
func help(_ context.Context, c *call) error {
	if len(c.args) == 0 {
		c.helpAll()
		return nil
	}
	v, err := verbOf(c.args[0])
	if err != nil {
		return err
	}
	c.helpFor(v)
	return nil
}

func (c *call) helpAll() {
	c.Say("Usage: %s VERB [ARGUMENTS] [FLAGS]\n", c.Name)
	for _, r := range rooms() {
		c.Say("%s", r.title)
		var rows [][]string
		for _, v := range r.verbs {
			rows = append(rows, []string{"  " + strings.TrimSpace(v.name+" "+v.args), v.does})
		}
		c.Table(rows)
		c.Say("")
	}
	c.Say("The store is the one that --store or $%s names%s.", storeVariable, c.ownStore())
	c.Say("What writes asks first, unless --yes says that it is meant; --dry-run writes nothing.")
	c.Say("")
	c.Say("Exit codes: 0 well, 1 something is wrong or not there, 2 wrong call, 3 store not reachable,")
	c.Say("4 stopped and can go on, 5 refused. `%s help VERB` has the flags of a verb.", c.Name)
}

// ownStore says which store it is that no one names.
func (c *call) ownStore() string {
	if c.URL == "" {
		return ""
	}
	return ", or else " + shownURL(c.URL)
}

func (c *call) helpFor(v verb) {
	c.Say("Usage: %s\n", strings.TrimSpace(c.Name+" "+v.name+" "+v.args))
	c.Say("%s%s.", strings.ToUpper(v.does[:1]), v.does[1:])
	if v.text != "" {
		c.Say("%s", v.text)
	}
	if len(v.needs()) == 0 {
		return
	}
	c.Say("")
	var rows [][]string
	for _, o := range flags {
		if slices.Contains(v.needs(), o.name) {
			rows = append(rows, []string{"  " + strings.TrimSpace("--"+o.name+" "+o.arg), o.does})
		}
	}
	c.Table(rows)
}

// helpOf returns the call that says how the verb is called.
func (c *call) helpOf() string {
	if c.verb.name == "" {
		return c.command("help")
	}
	return c.command("help", c.verb.name)
}

// Scripts of shells. Each calls the command for the words that may come next: %[1]s is the
// program, %[2]s what follows it up to the verb, with a blank before it if that is anything,
// %[3]d how many words both are, %[4]d one more, and %[5]s a name for a function.
var scripts = map[string]string{
	"bash": `%[5]s() {
	[[ "${COMP_WORDS[*]:0:%[3]d}" == "${COMP_WORDS[0]}%[2]s" ]] || return
	COMPREPLY=($(compgen -W "$("${COMP_WORDS[0]}"%[2]s completion words -- "${COMP_WORDS[@]:%[3]d:COMP_CWORD-%[3]d}" 2>/dev/null)" -- "${COMP_WORDS[COMP_CWORD]}"))
}
complete -F %[5]s %[1]s
`,
	"zsh": `#compdef %[1]s
%[5]s() {
	[[ "${words[1,%[3]d]}" == "${words[1]}%[2]s" ]] || return
	compadd -- $("${words[1]}"%[2]s completion words -- "${(@)words[%[4]d,CURRENT-1]}" 2>/dev/null)
}
compdef %[5]s %[1]s
`,
	"fish": `function %[5]s
	set -l words (commandline -opc)
	test "$words[1..%[3]d]" = "$words[1]%[2]s"; or return
	$words[1]%[2]s completion words -- $words[%[4]d..] 2>/dev/null
end
complete -c %[1]s -f -a '(%[5]s)'
`,
}

// completion writes the script for a shell, or the words that may follow others.
func completion(ctx context.Context, c *call) error {
	if c.args[0] == "words" {
		return c.words(ctx, c.args[1:])
	}
	script, ok := scripts[c.args[0]]
	if !ok || len(c.args) > 1 {
		return unknown("shell", strings.Join(c.args, " "), []string{"bash", "zsh", "fish"})
	}
	program, rest, _ := strings.Cut(c.Name, " ")
	if rest != "" {
		rest = " " + rest
	}
	function := "_complete_" + strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, c.Name)
	n := len(strings.Fields(c.Name))
	fmt.Fprintf(c, script, program, rest, n, n+1, function)
	return nil
}

// words writes what may follow the words before.
func (c *call) words(ctx context.Context, before []string) error {
	before = withoutFlags(before)
	if len(before) == 0 {
		for _, v := range allVerbs() {
			c.Say("%s", v.name)
		}
		return nil
	}
	v, err := verbOf(before[0])
	if err != nil {
		return err
	}
	all, err := c.wordsFor(ctx, v, len(before)-1)
	for _, word := range all {
		c.Say("%s", word)
	}
	for _, name := range v.needs() {
		c.Say("--%s", name)
	}
	return err
}

// withoutFlags returns words without flags and what belongs to them.
func withoutFlags(words []string) (rest []string) {
	for i := 0; i < len(words); i++ {
		name, isFlag := strings.CutPrefix(words[i], "-")
		switch {
		case !isFlag:
			rest = append(rest, words[i])
		case slices.ContainsFunc(flags, func(o option) bool { return o.name == strings.TrimPrefix(name, "-") && o.arg != "" }):
			i++
		}
	}
	return rest
}

// wordsFor returns what may be argument i of v.
func (c *call) wordsFor(ctx context.Context, v verb, i int) ([]string, error) {
	args := strings.Fields(v.args)
	if i >= len(args) {
		return nil, nil
	}
	switch strings.Trim(args[i], "[]") {
	case "VERB":
		return verbNames(), nil
	case "bash|zsh|fish":
		return strings.Split(args[i], "|"), nil
	case "MODEL", "MODEL[.INDEX", "MODEL.INDEX", "MODEL.INDEX[/VALUE":
		models, indexes, err := c.named(ctx)
		if strings.Trim(args[i], "[]") == "MODEL" {
			indexes = nil
		}
		if strings.HasPrefix(args[i], "MODEL.INDEX") {
			models = nil
		}
		return append(models, indexes...), err
	}
	return nil, nil
}

// named returns the names of the models and of their indexes. No store is needed for that.
func (c *call) named(ctx context.Context) (models, indexes []string, err error) {
	if c.store, err = kvopen.Store(ctx, "mem:"); err != nil {
		return nil, nil, err
	}
	if c.db, err = kvmodel.Open(stays{c.store}, kvmodel.ReadOnly()); err != nil {
		return nil, nil, err
	}
	c.Models(c.db)
	in := New(c.db)
	for _, m := range in.models {
		models = append(models, m.Name())
		for _, w := range m.windows {
			indexes = append(indexes, m.Name()+"."+w.Name())
		}
	}
	for _, w := range in.alone {
		indexes = append(indexes, w.Name())
	}
	return models, indexes, nil
}
