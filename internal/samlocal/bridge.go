package samlocal

import (
	"io"
	"net"
	"strings"
)

// bridge lets containers reach the local AWS, which listens on this machine's loopback only, at the engine's gateway.
// It returns the URL there.
func bridge(gateway, endpoint string) (net.Listener, string, error) {
	target := strings.TrimPrefix(endpoint, "http://")
	l, err := net.Listen("tcp", net.JoinHostPort(gateway, "0"))
	if err != nil {
		return nil, "", err
	}
	go func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return // closed
			}
			go pipe(in, target)
		}
	}()
	return l, "http://" + l.Addr().String(), nil
}

func pipe(in net.Conn, target string) {
	defer in.Close()
	out, err := net.Dial("tcp", target)
	if err != nil {
		return
	}
	defer out.Close()
	go func() {
		io.Copy(out, in)
		out.Close()
	}()
	io.Copy(in, out)
}
