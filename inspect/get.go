package inspect

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// Record is a record with all its data.
type Record struct {
	Model   string    `json:"model"`
	ID      string    `json:"id"`
	Key     string    `json:"key"`
	State   string    `json:"state"` // "live", "deleted", "expired", "absent", "damaged"
	Rev     uint64    `json:"rev"`
	Version int       `json:"version"` // of the model that wrote it
	Bytes   int       `json:"bytes"`
	Expires time.Time `json:"expires,omitzero"` // zero: never
	Err     error     `json:"error,omitempty"`  // the reason it cannot be read

	Fields   Fields  `json:"fields,omitempty"`
	Counters Fields  `json:"counters,omitempty"`
	Places   []Place `json:"places,omitempty"`
	History  int     `json:"history,omitempty"` // bytes of its history
}

// Place is the place of a record in an index.
type Place struct {
	Index string   `json:"index"`
	Kind  string   `json:"kind"`
	Value string   `json:"value"`           // the place, in the words of the index
	Bases []string `json:"bases,omitempty"` // the prefixes of its keys
	Wrong []string `json:"wrong,omitempty"` // sentences; none: no faults
}

// Get returns a record with its places in indexes and their faults. Private fields and the places
// that show them are masked, unless open is set.
func (in *Inspector) Get(ctx context.Context, name, id string, open bool) (Record, error) {
	m, err := in.model(name)
	if err != nil {
		return Record{}, err
	}
	if err := m.CheckID(id); err != nil {
		return Record{}, fmt.Errorf("%w: %s is not an id of %s: %w", kvmodel.ErrInvalid, kv.Quote(id), name, err)
	}
	r, err := in.readRecord(ctx, m, id)
	if !open {
		r.mask(&m)
	}
	return r, err
}

func (in *Inspector) readRecord(ctx context.Context, m model, id string) (Record, error) {
	sights, err := m.See(ctx, in.store, []string{id})
	if err != nil {
		return Record{}, err
	}
	r := recordOf(m, &sights[0])
	if r.State != "live" {
		return r, nil
	}
	if r.Fields, err = fieldsOf(sights[0].Envelope.Body); err != nil {
		r.State, r.Err = "damaged", texted(err)
		return r, nil
	}
	for i, counter := range m.Counters() {
		r.Counters = append(r.Counters, Field{counter, sights[0].Counts[i]})
	}
	if m.KeepsHistory() {
		got, err := kv.One(ctx, in.store, kv.OpGet(m.HistoryKey(id)))
		if err != nil && !errors.Is(err, kv.ErrNotFound) {
			return r, err
		}
		r.History = len(got.Value)
	}
	return r, in.place(ctx, m, &sights[0], &r)
}

func recordOf(m model, s *plug.Sight) Record {
	r := Record{Model: m.Name(), ID: s.ID, Key: m.Key(s.ID), State: "live", Bytes: s.Bytes, Err: texted(s.Err)}
	switch {
	case s.Err != nil:
		r.State = "damaged"
	case s.Envelope == nil:
		r.State = "absent"
	case s.Envelope.Deleted:
		r.State = "deleted"
	case s.Ended:
		r.State = "expired"
	}
	if s.Envelope != nil {
		r.Rev, r.Version, r.Expires = s.Envelope.Rev, s.Envelope.Model, s.Envelope.Ends()
	}
	return r
}

func (in *Inspector) place(ctx context.Context, m model, s *plug.Sight, r *Record) error {
	checked, err := m.Check(ctx, in.store, []string{s.ID})
	if err != nil {
		return err
	}
	for i, w := range m.windows {
		for _, place := range s.Places[i] {
			r.Places = append(r.Places, Place{Index: w.Name(), Kind: w.Kind(), Value: plug.Bare(place), Bases: w.Bases(place)})
		}
	}
	for _, w := range checked[0].Wrong {
		for i := range r.Places {
			if p := &r.Places[i]; p.Index == w.Index {
				p.Wrong = append(p.Wrong, w.Text)
			}
		}
	}
	return nil
}

// The parts of a value may be separated by slashes.
func textOfValue(value string) string {
	if strings.ContainsAny(value, "%:") {
		return value
	}
	if value == "" {
		return ""
	}
	return kv.JoinText(strings.Split(value, "/")...)
}

var errNoValue = fmt.Errorf("%w: the value is missing", kvmodel.ErrInvalid)

// Row is a line of a page.
type Row struct {
	ID     string `json:"id,omitempty"`     // of the record, or the member
	Note   string `json:"note,omitempty"`   // its stamp, score or text
	Fields Fields `json:"fields,omitempty"` // of an event
}

// Page is the first page of an index.
type Page struct {
	Index string  `json:"index"`
	Kind  string  `json:"kind"`
	Rows  []Row   `json:"rows"`
	Cost  kv.Cost `json:"-"`
}

// Page returns the first n entries of an index at a value, or of data of no model. Texts are masked
// if the index is over a private field.
func (in *Inspector) Page(ctx context.Context, index, value string, n int) (Page, error) {
	if err := plug.CheckPage(index, n); err != nil {
		return Page{}, err
	}
	m, w, err := in.window(index)
	if err != nil {
		return Page{}, err
	}
	ctx, meter := kvmodel.Metered(ctx)
	rows, err := w.Page(ctx, in.store, textOfValue(value), n)
	p := Page{Index: index, Kind: w.Kind(), Rows: []Row{}, Cost: meter.Cost()}
	for _, row := range rows {
		r := Row{ID: row.ID, Note: row.Note}
		if r.Note != "" && isHidden(m, w) {
			r.Note = Masked
		}
		if row.Data != nil {
			if r.Fields, _ = fieldsOf(row.Data); r.Fields == nil {
				r.Fields = Fields{{"value", string(row.Data)}}
			}
		}
		p.Rows = append(p.Rows, r)
	}
	if parted, ok := w.(plug.Parted); ok && err == nil && value == "" && len(rows) == 0 && parted.Parted() {
		err = fmt.Errorf("%w: pass %s/VALUE", errNoValue, index)
	}
	return p, err
}

const faceHidden = "Hidden, because it contains a private field. The command shows it with --private."

// isHidden reports whether places and keys of w show a private field.
func isHidden(m *model, w plug.Window) bool {
	if m == nil {
		return false
	}
	i := slices.IndexFunc(m.windows, func(v plug.Window) bool { return v.Name() == w.Name() })
	return plug.IsOver(m.Defs()[i], m.Private())
}

// mask hides private fields, and the places that show them.
func (r *Record) mask(m *model) {
	var secrets []string
	for i := range r.Fields {
		f := &r.Fields[i]
		if !slices.Contains(m.Private(), f.Name) {
			continue
		}
		if text, ok := f.Value.(string); ok && text != "" {
			secrets = append(secrets, strings.ToLower(kv.JoinText(text))) // as it stands in places
		}
		f.Value = Masked
	}
	for i := range r.Places {
		p := &r.Places[i]
		at := slices.IndexFunc(m.windows, func(w plug.Window) bool { return w.Name() == p.Index })
		shows := func(secret string) bool { return strings.Contains(strings.ToLower(p.Value), secret) }
		if !isHidden(m, m.windows[at]) && !slices.ContainsFunc(secrets, shows) {
			continue
		}
		p.Value, p.Bases = Masked, nil
		for j := range p.Wrong {
			p.Wrong[j] = "something is wrong here; it would show a private field"
		}
	}
}
