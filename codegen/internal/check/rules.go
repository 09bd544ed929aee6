// Package check is the third step: it rejects contradictory models, and changes that would orphan
// stored data.
package check

import (
	"go/types"
	"strings"

	"github.com/ringtree/ringtree/codegen/internal/english"
	"github.com/ringtree/ringtree/codegen/internal/load"
	"github.com/ringtree/ringtree/codegen/internal/model"
	"github.com/ringtree/ringtree/codegen/internal/problem"
	"github.com/ringtree/ringtree/codegen/internal/stored"
)

type rules struct {
	*problem.Reporter
	source *load.Source
	model  *model.Model
}

func Models(r *problem.Reporter, s *load.Source, p *model.Package) {
	for _, m := range p.Models {
		c := rules{r, s, m}
		c.kept()
		c.held()
		c.counted()
		c.tied()
		c.names()
		c.hooks()
		c.codec()
	}
}

// recordMethods are those of kvmodel.Records, which an index of that name would hide.
var recordMethods = []string{
	"Records", "ModelName", "Rebuild", "History", "DB", "ID", "IDs", "Last", "Load", "Before", "AcceptLoss", "Purge",
	"Get", "GetMulti", "All", "Each", "Create", "CreateMulti", "Put", "PutMulti",
	"Touch", "Update", "UpdateMulti", "Upsert", "Delete", "DeleteMulti", "OnChange", "Plug",
}

var hookShapes = []struct {
	stored.MethodShape
	form string
}{
	{stored.MethodShape{Name: "Upgrade", Params: "int", Results: "error"}, "func(from int) error"},
	{stored.MethodShape{Name: "Validate", Results: "error"}, "func() error"},
}

// The library would not call these methods because of their signature.
func (c rules) hooks() {
	methods := types.NewMethodSet(types.NewPointer(c.model.Type))
	for _, hook := range hookShapes {
		m := methods.Lookup(c.source.Types, hook.Name)
		if m != nil && !hook.Fits(m.Obj().(*types.Func)) {
			c.At(m.Obj().Pos(), "%s of %s must be %s for the library to call it", hook.Name, c.model.Name, hook.form)
		}
	}
}

func (c rules) kept() {
	m := c.model
	if m.Sequential && len(m.ID) == 1 && m.IDType != nil && !strings.HasSuffix(stored.KeyKind(m.IDType), "int") {
		c.At(m.Pos, "the id of %s cannot be a sequence: that is one field of an integer type", m.Name)
	}
	if m.Sequential && m.Expires != "" {
		c.At(m.Pos, "the records of %s cannot expire: each would leave a gap in the sequence of ids", m.Name)
	}
	if m.Forget && m.History == 0 {
		c.At(m.Pos, "forget of %s needs history=N, the versions that a deletion then removes", m.Name)
	}
	if m.History > 0 && m.Expires != "" {
		c.At(m.Pos, "the records of %s cannot expire: their history is found by what stays of them", m.Name)
	}
}

// held reports unique values held for a time that has no beginning, or that end with their record.
func (c rules) held() {
	for _, x := range c.model.Indexes {
		switch {
		case x.For == 0:
		case c.model.Expires != "":
			c.At(x.Pos, "for=%s: records of %s expire, and free their values then: leave out for= or expires",
				english.Duration(x.For), c.model.Name)
		case c.model.Created == "":
			c.At(x.Pos, "for=%s counts from the creation of a record, and %s does not have that time: add a field Created time.Time `kv:\"created\"`", english.Duration(x.For), c.model.Name)
		}
	}
}

// counted reports counts of expiring records, which nothing would count down.
func (c rules) counted() {
	if c.model.Total && c.model.Expires != "" {
		c.At(c.model.TotalAt, "count: records of %s expire, and nothing counts them down: leave out count; Size and Count of a list know when its members expire",
			c.model.Name)
	}
	for _, x := range c.model.Indexes {
		for _, n := range x.Numbers {
			if c.model.Expires != "" {
				c.At(n.Pos, "%s: records of %s expire, and nothing counts them down: leave it out and use %s.Of(...).Size or .Count, which know when members expire",
					n.Clause(), c.model.Name, x.Name)
			}
		}
		if x.Ranking != nil && c.model.Expires != "" {
			c.At(x.Pos, "ranking: records of %s expire, and nothing takes them off %s then: replace expires by a ranking of that time, and delete the records that are due",
				c.model.Name, x.Name)
		}
		if x.Values && c.model.Expires != "" {
			c.At(x.Pos, "values: records of %s expire, and nothing counts them down: leave out values and use %s.Of(...).Size of the values that you know, or leave out expires",
				c.model.Name, x.Name)
		}
	}
}

func (c rules) tied() {
	for _, x := range c.model.Indexes {
		if x.Ranking != nil && x.Ranking.ByTime() && c.model.Created == "" {
			c.At(x.Pos, "ties=%s of %s: %s has no created field: add one, such as Made time.Time `kv:\"created\"`", x.Ranking.Ties, x.Name, c.model.Name)
		}
	}
}

func (c rules) names() {
	taken := map[string]string{}
	for _, name := range recordMethods {
		taken[name] = "kvmodel.Records has " + name
	}
	for name, method := range c.source.Methods(c.model.Collection) {
		taken[name] = "a method at " + c.Place(method.Name.Pos()).String() + " is called " + name
	}
	c.total(taken)
	for _, x := range c.model.Counters {
		if other, ok := taken[x.Name]; ok {
			c.At(x.Pos, "the counter %s of %s needs another name, since %s: add name=...", x.Name, c.model.Name, other)
		}
		taken[x.Name] = "a counter is called " + x.Name
	}
	if c.model.Sequential {
		taken["Sequence"] = "that is the records by their numbers"
	}
	storedAs := map[string]bool{}
	for _, x := range c.model.Indexes {
		if other, ok := taken[x.Name]; ok {
			c.At(x.Pos, "the index %s of %s needs another name, since %s: add name=...", x.Name, c.model.Name, other)
		} else if storedAs[x.Stored] {
			c.At(x.Pos, "two indexes of %s are stored as %s: say another name= or was=", c.model.Name, x.Stored)
		}
		taken[x.Name] = "another index is called " + x.Name
		storedAs[x.Stored] = true
	}
}

func (c rules) total(taken map[string]string) {
	if !c.model.Total {
		return
	}
	for _, name := range []string{"Count", "Total"} {
		if other, ok := taken[name]; ok {
			c.At(c.model.TotalAt, "count gives %s a %s, but %s: rename that", c.model.Collection, name, other)
		}
		taken[name] = "count gives " + c.model.Collection + " that name"
	}
}

// codec reports handwritten methods that kvgen generates, or that would never be called.
func (c rules) codec() {
	own := c.source.Methods(c.model.Type.Obj().Name())
	for _, name := range []string{"EncodeMsgpack", "DecodeMsgpack", "MarshalMsgpack", "UnmarshalMsgpack"} {
		if method, ok := own[name]; ok {
			c.At(method.Name.Pos(), "kvgen generates the encoding of %s: remove its %s. A field may have a type with such a method", c.model.Name, name)
		}
	}
}
