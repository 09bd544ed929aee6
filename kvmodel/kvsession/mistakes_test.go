package kvsession_test

import (
	"testing"

	"github.com/ringtree/ringtree/internal/proof"
)

// Each of these makes a test fail that says what would be lost.
func TestMistakes_AreNoticed(t *testing.T) {
	const dir = "kvmodel/kvsession/"
	proof.Mistakes(t, "./kvmodel/kvsession", "^Test(Store|Sweep|Values|Holds)_[^W]", []string{"RINGTREE_SEEDS=400"}, []proof.Mistake{
		proof.Wrong("a save stores all it knows", dir+"save.go",
			"rec.Values = e.changes.on(rec.Values)", "rec.Values = e.changes.on(e.base)",
			dir+"save.go", "	maxAge int\n	aged", "	base   entries\n	maxAge int\n	aged",
			dir+"save.go", "		maxAge:  session.Options.MaxAge,", "		base:    held.record.Values,\n		maxAge:  session.Options.MaxAge,"),
		proof.Wrong("an ended session is begun again", dir+"save.go",
			"	if err != nil || held.current && !wrote {", "	if errors.Is(err, ErrEnded) {\n		*held = hold{}\n		return s.Save(r, w, session)\n	}\n	if err != nil || held.current && !wrote {"),
		proof.Wrong("an outage is no session", dir+"store.go",
			"	if errors.Is(err, kv.ErrNotFound) {\n		return found, ErrEnded", "	if err != nil {\n		return found, ErrEnded"),
		proof.Wrong("what could not be read is saved", dir+"save.go",
			"	case held.err != nil:\n", "	case false:\n"),
		proof.Wrong("the old session is left alone", dir+"renew.go",
			"	if old.id == \"\" {\n		return nil\n	}\n	t := now()", "	if next != \"\" {\n		return nil\n	}\n	t := now()"),
		proof.Wrong("the old session is marked whatever it is now", dir+"renew.go",
			"		err := s.swap(ctx, old, mark, grace)", "		if again, err := s.read(ctx, old.id); err == nil {\n			old = again\n		}\n		err := s.swap(ctx, old, mark, grace)"),
		proof.Wrong("a lost answer to the mark is a failure", dir+"renew.go",
			"		case found.record.Next == next:", "		case false:"),
		proof.Wrong("the values of another user stay", dir+"renew.go",
			"if old.User == \"\" || old.User == user {", "if true {"),
		proof.Wrong("revoke all looks once", dir+"user.go",
			"		case err == nil && !ended:", "		case err == nil && (!ended || true):"),
		proof.Wrong("anybody's session is revoked", dir+"user.go",
			"	case found.record.User != user || user == \"\":", "	case false:"),
		proof.Wrong("no sign-in is too late", dir+"generation.go",
			"	if !bytes.Equal(now.mark, g.mark) || now.read.Sub(g.read) > grace/2 {", "	if bytes.Equal(now.mark, g.mark) && false {"),
		proof.Wrong("a sign-in looks before it can be found", dir+"renew.go",
			"		if err = s.add(ctx, id, next); err != nil {", "		if err = may(ctx); err != nil {\n			return stored{}, err\n		}\n		if err = s.add(ctx, id, next); err != nil {",
			dir+"renew.go", "		if err = may(ctx); err == nil {\n			err = s.retire(ctx, old, id.String())\n		}", "		err = s.retire(ctx, old, id.String())"),
		proof.Wrong("revoke all begins no generation", dir+"user.go",
			"	if err := s.nextGeneration(ctx, user); err != nil {", "	if err := error(nil); err != nil {"),
		proof.Wrong("revoke all begins a generation last", dir+"user.go",
			"	if err := s.nextGeneration(ctx, user); err != nil {\n		return err\n	}\n", "",
			dir+"user.go", "		case err == nil && !ended:\n			return nil", "		case err == nil && !ended:\n			return s.nextGeneration(ctx, user)"),
		proof.Wrong("every generation is alike", dir+"generation.go", "kv.RandomBytes(16)", "[]byte(\"x\")"),
		proof.Wrong("a mark is gone before the sign-ins that it ends", dir+"generation.go", ").For(grace))", ").For(grace/2-time.Second))"),
		proof.Wrong("tidying up forgets what is about to be added", dir+"user.go",
			"if present || time.Since(p.since) < grace {", "if present {"),
		proof.Wrong("a list only grows", dir+"user.go",
			"	if err == nil && len(ops[2].Result.Value) > 2*s.options.PerUser*seatSize {", "	if false {"),
		proof.Wrong("a moved session is as good as none", dir+"store.go",
			"		held.err = ErrEnded\n", "		held.err = nil\n"),
		proof.Wrong("an error tells what the bytes were", dir+"values.go",
			"	return fmt.Errorf(\"kvsession: %w: a stored session, at offset %d\", codec.ErrCorrupt, offset)",
			"	return fmt.Errorf(\"kvsession: %w: a stored session, at offset %d\", err, offset)"),
		proof.Wrong("use does not lengthen", dir+"save.go",
			"	if e.empty() && !there.record.due(&s.options, now()) {", "	if e.empty() {"),
	})
}
