package webhook

import (
	"context"
	"crypto/x509"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/net/dns/dnsmessage"
)

// names is a DNS server on the loopback: for each name the answers in turn, of which the last one stays.
type names struct {
	mu      sync.Mutex
	answers map[string][][]string
	asked   map[string]int // questions for A and AAAA are counted apart; see answer
}

// resolver starts the server for the time of the test. Names it doesn't know don't exist.
func resolver(t *testing.T, answers map[string][][]string) *net.Resolver {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	n := &names{answers: answers, asked: map[string]int{}}
	go func() {
		buf := make([]byte, 1500)
		for {
			size, from, err := conn.ReadFrom(buf)
			if err != nil {
				return
			}
			if reply := n.answer(buf[:size]); reply != nil {
				conn.WriteTo(reply, from)
			}
		}
	}()
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "udp", conn.LocalAddr().String())
	}}
}

func (n *names) answer(question []byte) []byte {
	var m dnsmessage.Message
	if m.Unpack(question) != nil || len(m.Questions) != 1 {
		return nil
	}
	q := m.Questions[0]
	n.mu.Lock()
	defer n.mu.Unlock()
	turns, known := n.answers[q.Name.String()]
	m.Response, m.Authoritative, m.RecursionAvailable = true, true, true
	m.Additionals = nil
	if !known {
		m.RCode = dnsmessage.RCodeNameError
	} else {
		key := q.Type.String() + q.Name.String()
		turn := turns[min(n.asked[key], len(turns)-1)]
		n.asked[key]++
		for _, text := range turn {
			ip := netip.MustParseAddr(text)
			header := dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class}
			switch {
			case ip.Is4() && q.Type == dnsmessage.TypeA:
				m.Answers = append(m.Answers, dnsmessage.Resource{Header: header, Body: &dnsmessage.AResource{A: ip.As4()}})
			case ip.Is6() && q.Type == dnsmessage.TypeAAAA:
				m.Answers = append(m.Answers, dnsmessage.Resource{Header: header, Body: &dnsmessage.AAAAResource{AAAA: ip.As16()}})
			}
		}
	}
	reply, err := m.Pack()
	if err != nil {
		return nil
	}
	return reply
}

// receiver is an https endpoint on the loopback, with the sender that may reach it and nothing else local.
type receiver struct {
	url    string
	at     netip.AddrPort
	roots  *x509.CertPool
	sender *Sender
}

func newReceiver(t *testing.T, handler http.HandlerFunc) receiver {
	t.Helper()
	server := httptest.NewTLSServer(handler)
	t.Cleanup(server.Close)
	r := receiver{url: server.URL, at: netip.MustParseAddrPort(server.Listener.Addr().String()), roots: x509.NewCertPool()}
	r.roots.AddCert(server.Certificate())
	r.sender = NewSender(Addresses{Local: []netip.AddrPort{r.at}}, r.roots)
	return r
}

// trap listens on loopback addresses and counts who connects.
func trap(t *testing.T, addresses ...string) (ports []string, connections *atomic.Int32) {
	t.Helper()
	connections = new(atomic.Int32)
	for _, address := range addresses {
		l, err := net.Listen("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				connections.Add(1)
				c.Close()
			}
		}()
		_, port, _ := net.SplitHostPort(l.Addr().String())
		ports = append(ports, port)
	}
	return ports, connections
}
