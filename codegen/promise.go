package codegen

import (
	"go/token"
	"go/types"
)

// codecMethods are the methods that kvgen writes for every model, with the
// types of their parameters in package msgpack.
var codecMethods = []struct{ name, param string }{
	{"EncodeMsgpack", "Encoder"},
	{"DecodeMsgpack", "Decoder"},
}

// promiseCodecs gives the models of s the methods that kvgen will write, so that
// other packages see them the same whether s has been generated or not.
func (s *source) promiseCodecs() {
	msgpack := types.NewPackage(msgpackPath, "msgpack")
	for _, d := range s.drafts {
		named := s.named(d.name)
		if named == nil {
			continue
		}
		for _, m := range codecMethods {
			coder := types.NewNamed(types.NewTypeName(token.NoPos, msgpack, m.param, nil), types.NewStruct(nil, nil), nil)
			named.AddMethod(types.NewFunc(token.NoPos, s.types, m.name, types.NewSignatureType(
				types.NewParam(token.NoPos, s.types, "", types.NewPointer(named)), nil, nil,
				types.NewTuple(types.NewParam(token.NoPos, msgpack, "", types.NewPointer(coder))),
				types.NewTuple(types.NewParam(token.NoPos, nil, "", types.Universe.Lookup("error").Type())), false)))
		}
	}
}

// checkCodec reports methods of people's own that kvgen would write again, or
// that nobody would call beside those that it writes.
func (b *builder) checkCodec() {
	own := b.source.methods(b.draft.name)
	for _, name := range []string{"EncodeMsgpack", "DecodeMsgpack", "MarshalMsgpack", "UnmarshalMsgpack"} {
		if pos, ok := own[name]; ok {
			b.at(pos, "kvgen writes how a %s is stored: remove its %s; a field whose type has such methods is stored by them", b.model.Name, name)
		}
	}
}
