package emit

import (
	"bytes"
	"fmt"
	"go/token"
	"go/types"
	"strconv"

	"github.com/ringtree/ringtree/codegen/internal/english"
	"github.com/ringtree/ringtree/codegen/internal/stored"
)

func (s *codecSet) emit(model *types.Named) []byte {
	s.out.Reset()
	s.model(model)
	for ; s.done < len(s.parts); s.done++ {
		next := s.parts[s.done]
		switch next.what {
		case streamPart:
			s.writeCodec(next.typ, next.base, next.pos)
		case fieldsPart:
			s.writeFields(next.typ, next.base, next.pos)
		case copyPart:
			s.writeCopy(next.typ, next.base, stored.Place{Name: next.base, Pos: next.pos})
		}
	}
	return bytes.Clone(s.out.Bytes())
}

func (s *codecSet) model(model *types.Named) {
	name := model.Obj().Name()
	if model.TypeParams().Len() > 0 && model.TypeArgs().Len() == 0 {
		s.At(model.Obj().Pos(), "%s has type parameters: a model is a type of its own", name)
		return
	}
	codec, msgpack := s.runtime(), s.imports.add(stored.MsgpackPath, "msgpack")
	variable, receiver := s.codecName(model), receiverName(name)
	base := s.codecOf(model, "", model.Obj().Pos())
	s.printf("// EncodeMsgpack writes %s as a map by field name, in its stored form.\n", receiver)
	s.printf("func (%s *%s) EncodeMsgpack(enc *%s.Encoder) error { return %s.Encode(enc, %[1]s) }\n\n", receiver, name, msgpack, variable)
	s.printf("// DecodeMsgpack reads the stored form into %s; fields that it lacks stay as they are.\n", receiver)
	s.printf("func (%s *%s) DecodeMsgpack(dec *%s.Decoder) error { return %s.Decode(dec, %[1]s) }\n\n", receiver, name, msgpack, variable)
	s.printf("var %s = %s.Model[%s]{Write: write%s, Read: read%[4]s, Fields: %s%s}\n\n",
		variable, codec, name, base, s.fieldsOf(model, "", model.Obj().Pos()), s.copyModel(model))
}

func (s *codecSet) writeCodec(t types.Type, base string, pos token.Pos) {
	if st, ok := t.Underlying().(*types.Struct); ok {
		s.writeStruct(t, base, pos, s.Fields(t, st, base, pos))
		return
	}
	codec, name, in := s.runtime(), s.typeName(t, pos), stored.Place{Name: base, Pos: pos}
	s.printf("func write%s(w *%s.Writer, v *%s) {\n\t%s\n}\n\n", base, codec, name, s.call("Write", t.Underlying(), "w", "v", in))
	s.printf("func read%s(r *%s.Reader, v *%s) {\n\t%s\n}\n\n", base, codec, name, s.call("Read", t.Underlying(), "r", "v", in))
}

func (s *codecSet) writeStruct(t types.Type, base string, pos token.Pos, fields []stored.Field) {
	codec, name := s.runtime(), s.typeName(t, pos)
	s.printf("func write%s(w *%s.Writer, v *%s) {\n\tw.Struct(%d)\n", base, codec, name, len(fields))
	for _, f := range fields {
		s.printf("\t%s\n", s.call("Write", f.Type, fmt.Sprintf("w.Name(%q)", f.Names[0]), "&v."+f.Path, f.Place))
	}
	s.printf("}\n\nfunc read%s(r *%s.Reader, v *%s) {\n\t%[2]s.ReadStruct(r, v, read%[1]sField)\n}\n\n", base, codec, name)
	s.printf("func read%sField(r *%s.Reader, v *%s, name []byte) bool {\n", base, codec, name)
	if len(fields) == 0 {
		s.printf("\treturn false\n}\n\n")
		return
	}
	s.printf("\tswitch string(name) {\n")
	for _, f := range fields {
		s.printf("\tcase %s:\n\t\t%s\n", each(f.Names, strconv.Quote), s.call("Read", f.Type, "r", "&v."+f.Path, f.Place))
	}
	s.printf("\tdefault:\n\t\treturn false\n\t}\n\treturn true\n}\n\n")
}

func (s *codecSet) writeFields(t types.Type, base string, pos token.Pos) {
	var plain []string
	var nested []stored.Field
	for _, f := range s.Fields(t, t.Underlying().(*types.Struct), base, pos) {
		if s.StructIn(f.Type) == nil {
			plain = append(plain, f.Names...)
		} else {
			nested = append(nested, f)
		}
	}
	s.printf("func %sFields(name []byte) (%s.Fields, bool) {\n", english.Uncapital(base), s.runtime())
	if len(plain)+len(nested) == 0 {
		s.printf("\treturn nil, false\n}\n\n")
		return
	}
	s.printf("\tswitch string(name) {\n")
	for _, f := range nested {
		s.printf("\tcase %s:\n\t\treturn %s, true\n", each(f.Names, strconv.Quote), s.fieldsOf(s.StructIn(f.Type), f.Place.Name, f.Place.Pos))
	}
	if len(plain) > 0 {
		s.printf("\tcase %s:\n\t\treturn nil, true\n", each(plain, strconv.Quote))
	}
	s.printf("\t}\n\treturn nil, false\n}\n\n")
}

func (s *codecSet) printf(format string, args ...any) { fmt.Fprintf(&s.out, format, args...) }
