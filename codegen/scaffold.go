package codegen

import (
	"fmt"
	"path/filepath"

	"github.com/ringtree/ringtree/codegen/internal/english"
	"github.com/ringtree/ringtree/codegen/internal/model"
	"github.com/ringtree/ringtree/codegen/internal/output"
	"github.com/ringtree/ringtree/codegen/internal/site"
)

// Access decides which users may change the records of a model, and which fields.
type Access = site.Access

// Scaffold writes the pages of a model into the site in the run's directory. It returns the written
// files, and a report of the users' rights on the pages.
func (run Run) Scaffold(name string, a Access) (paths []string, report string, err error) {
	_, packages, err := run.load()
	if err != nil {
		return nil, "", err
	}
	p, m, err := modelCalled(packages, name)
	if err != nil {
		return nil, "", err
	}
	made, report, err := site.Pages(p, m, a)
	if err != nil {
		return nil, "", err
	}
	joined, err := site.Join(filepath.Join(run.Dir, "web", "site.go"), m)
	if err != nil {
		return nil, "", err
	}
	for i, f := range made {
		made[i].Path = filepath.Join(run.Dir, f.Path)
		paths = append(paths, made[i].Path)
	}
	if err := output.CreateAll(made); err != nil {
		return nil, "", err
	}
	return append(paths, joined.Path), report, output.Replace(joined)
}

func modelCalled(packages []*model.Package, name string) (*model.Package, *model.Model, error) {
	var known []string
	for _, p := range packages {
		for _, m := range p.Models {
			if m.Name == name {
				return p, m, nil
			}
			known = append(known, m.Name)
		}
	}
	return nil, nil, fmt.Errorf("there is no model %s; %s", name, english.Known(name, known))
}
