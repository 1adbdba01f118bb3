package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"sync"
)

// forward forwards connections from one address to another until ctx ends. It
// is needed because a container cannot reach a server on the machine's
// loopback address.
func forward(ctx context.Context, from, to string) error {
	listener, err := net.Listen("tcp", from)
	if err != nil {
		return fmt.Errorf("forwarding: %w", err)
	}
	go func() {
		<-ctx.Done()
		_ = listener.Close()
	}()
	for {
		in, err := listener.Accept()
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return fmt.Errorf("forwarding: %w", err)
		}
		go pass(in, to)
	}
}

// pass copies bytes in both directions between a connection and an address.
func pass(in net.Conn, to string) {
	defer func() { _ = in.Close() }()
	out, err := net.Dial("tcp", to)
	if err != nil {
		return
	}
	defer func() { _ = out.Close() }()
	var both sync.WaitGroup
	for _, way := range [][2]net.Conn{{in, out}, {out, in}} {
		both.Go(func() {
			_, _ = io.Copy(way[0], way[1])
			if c, ok := way[0].(*net.TCPConn); ok {
				_ = c.CloseWrite()
			}
		})
	}
	both.Wait()
}
