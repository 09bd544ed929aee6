package rediskv

import (
	"context"
	"fmt"
	"strings"

	"github.com/redis/rueidis"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

const keysAtOnce = 1000

var literal = strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`, "]", `\]`, "^", `\^`)

func (s *Store) keys(ctx context.Context, begin string, f func([]string) error) error {
	if !s.cluster {
		return s.keysOf(ctx, s.client, begin, f)
	}
	for _, node := range s.client.Nodes() {
		role, err := node.Do(ctx, node.B().Role().Build()).ToArray()
		if err != nil {
			return s.unlisted(err)
		}
		if name, _ := role[0].ToString(); name != "master" {
			continue
		}
		if err := s.keysOf(ctx, node, begin, f); err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) keysOf(ctx context.Context, server rueidis.Client, begin string, f func([]string) error) error {
	for cursor := uint64(0); ; {
		scan := server.B().Scan().Cursor(cursor).Match(literal.Replace(begin) + "*").Count(keysAtOnce).Build()
		page, err := server.Do(ctx, scan).AsScanEntry()
		if err != nil {
			return s.unlisted(err)
		}
		if len(page.Elements) > 0 {
			if err := f(page.Elements); err != nil {
				return err
			}
		}
		if cursor = page.Cursor; cursor == 0 {
			return nil
		}
	}
}

func (s *Store) unlisted(err error) error {
	return fmt.Errorf("rediskv: %s: keys: %w: %w", s.where, kv.ErrUnavailable, err)
}
