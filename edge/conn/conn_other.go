//go:build !unix

package conn

// prepare does nothing: the connection waits in Conn.Read, with a buffer.
func (c *conn) prepare() {}

// prepare does nothing: the connection waits in Conn.Read, with a buffer.
func (w *waitConn) prepare() {}
