// Package schema holds the entities of ent.
package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/dialect/entsql"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"
)

// Page is the record of every workload.
type Page struct{ ent.Schema }

// Fields are those of a page besides its id.
func (Page) Fields() []ent.Field {
	return []ent.Field{
		field.Int64("id"),
		field.String("slug").Unique(),
		field.String("title"),
		field.Text("body"),
		field.String("author"),
		field.Strings("tags"),
		field.Time("updated_at"),
		field.Int64("views"),
	}
}

// Indexes are the orders of the pages.
func (Page) Indexes() []ent.Index {
	return []ent.Index{index.Fields("updated_at"), index.Fields("views")}
}

// Footprint says that a visitor was at an owner's.
type Footprint struct{ ent.Schema }

// Fields are those of a footprint.
func (Footprint) Fields() []ent.Field {
	return []ent.Field{field.Int64("owner"), field.Int64("visitor"), field.Int64("at")}
}

// Indexes hold each visitor of an owner once, and an owner's by time.
func (Footprint) Indexes() []ent.Index {
	return []ent.Index{
		index.Fields("owner", "visitor").Unique(),
		index.Fields("owner", "at").Annotations(entsql.DescColumns("at")),
	}
}

// Follower says that a user follows a topic.
type Follower struct{ ent.Schema }

// Fields are those of a follower.
func (Follower) Fields() []ent.Field {
	return []ent.Field{field.Int64("topic"), field.Int64("user")}
}

// Indexes hold each follower of a topic once.
func (Follower) Indexes() []ent.Index {
	return []ent.Index{index.Fields("topic", "user").Unique()}
}
