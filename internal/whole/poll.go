package whole

type Poll struct {
	ID      string `kv:"id"`
	Votes   int64  `kv:"counter"`
	Against int64  `kv:"counter"`
	Score   int64  `kv:"counter; ranking"`
}

type Vote struct {
	User  string `kv:"id"`
	Poll  string `kv:"id; list; count=Poll.Votes; count=Poll.Against,if=Bad; sum=Poll.Score,of=Value"`
	Value int64
}

func (v *Vote) Bad() bool { return v.Value < 0 }
