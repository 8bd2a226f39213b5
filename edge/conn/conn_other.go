//go:build !unix

package conn

import "net"

// prepare does nothing: the connection waits in Conn.Read, with a buffer.
func (c *conn) prepare() {}

// prepare does nothing: the connection waits in Conn.Read, with a buffer.
func (w *waitConn) prepare() {}

// receiveBuffer returns 0: the size is unknown.
func receiveBuffer(net.PacketConn) int { return 0 }
