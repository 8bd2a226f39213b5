package proxy

import (
	"net"

	"github.com/valyala/fasthttp"
)

// noDateHeader returns a response header to which fasthttp adds no Date. A proxy must not
// change the Date of a response, but fasthttp does not let a handler set Date: only a
// server with NoDefaultDate can mark a header so, and only a copy keeps the mark. The
// function therefore runs a server for one request over a pipe and copies its header.
func noDateHeader() (*fasthttp.ResponseHeader, error) {
	blank := new(fasthttp.ResponseHeader)
	s := &fasthttp.Server{
		NoDefaultDate: true,
		Handler:       func(ctx *fasthttp.RequestCtx) { ctx.Response.Header.CopyTo(blank) },
	}
	here, there := net.Pipe()
	defer here.Close()
	done := make(chan error, 1)
	go func() { done <- s.ServeConn(there) }()
	if _, err := here.Write([]byte("GET / HTTP/1.0\r\n\r\n")); err != nil {
		return nil, err
	}
	sink := make([]byte, 512)
	for {
		if _, err := here.Read(sink); err != nil {
			break // the server has closed it
		}
	}
	if err := <-done; err != nil {
		return nil, err
	}
	blank.SetNoDefaultContentType(true)
	blank.SetServer("")
	return blank, nil
}
