package codegen

import "fmt"

// A handle is a field of a model's collection: what it is called, its type, the
// expression that makes it from r, the records, what it holds, and the trips of
// using it.
type handle struct{ name, typ, make, line, read string }

// handles returns what the collection of m has besides the records.
func (m *Model) handles(n *imports) []handle {
	var all []handle
	args := n.typeString(m.Type) + ", " + n.typeString(m.IDType)
	if m.History > 0 {
		all = append(all, handle{
			"History", fmt.Sprintf("*%s.History[%s]", n.runtime("kvmodel"), args),
			n.runtime("kvmodel") + ".NewHistory(r)",
			fmt.Sprintf("the last %d bodies of each %s", m.History, m.Name),
			"Of 1; Restore 4",
		})
	}
	if m.Sequential {
		all = append(all, handle{
			"Sequence", fmt.Sprintf("*%s.Sequence[%s]", n.runtime("index"), n.typeString(m.Type)),
			n.runtime("index") + ".SequenceOf(r)",
			fmt.Sprintf("the %s by their numbers", m.Collection),
			"Page 1; Count 1 when warm",
		})
	}
	for _, x := range m.Indexes {
		emit := x.Clause.word.emit
		all = append(all, handle{x.Name, emit.typ(x, n), emit.make(x, n), x.line(), emit.read})
	}
	for _, c := range m.Counters {
		all = append(all, handle{
			c.Name, fmt.Sprintf("*%s.Counter[%s]", n.runtime("index"), n.typeString(m.IDType)),
			fmt.Sprintf("%s.NewCounter(r, %q)", n.runtime("index"), c.Stored),
			c.line(), c.read(),
		})
	}
	return all
}

// kept writes how the records of m are kept, where that is not as usual.
func (w *printer) kept(m *Model) {
	if m.Sequential {
		w.printf("Sequential: true,\n")
	}
	if m.History > 0 {
		w.printf("History: %d,\n", m.History)
	}
	if len(m.Counters) == 0 {
		return
	}
	v, typ := m.receiver(), m.Type.Obj().Name()
	w.printf("Counters: []%s.CounterOf[%s]{\n", w.names.runtime("kvmodel"), typ)
	for _, c := range m.Counters {
		w.printf("{Name: %q, Set: func(%s *%s, n int64) { %s.%s = %s }},\n", c.Stored, v, typ, v, c.Field, w.number(c))
	}
	w.printf("},\n")
}

// number returns n as a value of the counter's field.
func (w *printer) number(c *Counter) string {
	if typ := w.names.typeString(c.Type); typ != "int64" {
		return typ + "(n)"
	}
	return "n"
}
