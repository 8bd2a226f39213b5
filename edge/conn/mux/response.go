package mux

// Response is a response from memory. Its slices must not change any more.
type Response struct {
	NotModified bool // the status is 304; otherwise 200
	// HPACK and QPACK are the header fields, except the constants, Date and Age, as
	// h2.AppendField and h3.AppendField append them.
	HPACK, QPACK []byte
	// MoreHPACK and MoreQPACK are further fields, which many responses share.
	MoreHPACK, MoreQPACK []byte
	Age                  int64  // value of Age, in seconds
	Body                 []byte // empty for 304
}

// Events are called when something happens that is counted.
type Events struct {
	Request func()              // a request was received
	Reset   func(client bool)   // a stream was reset, by the client or by the server
	GoAway  func(code uint64)   // the server ends a connection
	Calmed  func(bucket string) // a client has exceeded a limit of Limits
}
