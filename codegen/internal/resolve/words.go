package resolve

import "github.com/ringtree/ringtree/codegen/internal/model"

var meanings = map[string]meaning{
	"id":       {use: (*builder).useID},
	"unique":   {name: bySubject, def: uniqueDef, finish: (*builder).finishUnique},
	"list":     {name: bySubject, def: partsDef, finish: (*builder).finishList},
	"group":    {use: (*builder).useGroup},
	"timeline": {name: timelineName, def: timelineDef, finish: (*builder).finishTimeline},
	"ranking":  {name: rankingName, def: rankingDef, finish: (*builder).finishRanking},
	"counter":  {use: (*builder).useCounter},
	"count":    {use: (*builder).useNumber},
	"sum":      {use: (*builder).useNumber},
	"version":  {use: fill(func(m *model.Model) *string { return &m.VersionField })},
	"created":  {use: fill(func(m *model.Model) *string { return &m.Created })},
	"updated":  {use: fill(func(m *model.Model) *string { return &m.Updated })},
	"expires":  {use: fill(func(m *model.Model) *string { return &m.Expires })},
	"private":  {use: (*builder).usePrivate},
	"-":        {use: (*builder).useSkip},
	"model":    {use: (*builder).useModel},
	"events":   {use: (*builder).useEvents},
}
