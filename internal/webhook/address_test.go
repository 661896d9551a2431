package webhook

import (
	"context"
	"errors"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"baton/internal/task"
)

// hidden holds, for each kind of address that is not on the public internet, the first and the last or a well-known one.
var hidden = map[string][]string{
	"unspecified":        {"0.0.0.0", "0.255.255.255", "::"},
	"private":            {"10.0.0.0", "10.255.255.255", "172.16.0.1", "172.31.255.255", "192.168.0.1", "192.168.255.255"},
	"carrier-grade NAT":  {"100.64.0.0", "100.100.100.200", "100.127.255.255"},
	"loopback":           {"127.0.0.1", "127.255.255.254", "::1"},
	"link-local":         {"169.254.0.1", "169.254.255.255", "fe80::1", "febf::1"},
	"metadata":           {"169.254.169.254", "169.254.170.2", "169.254.169.253", "fd00:ec2::254", "fd00:ec2::23"},
	"protocol":           {"192.0.0.0", "192.0.0.192"},
	"documentation":      {"192.0.2.1", "198.51.100.1", "203.0.113.255", "2001:db8::1", "3fff::1"},
	"benchmark":          {"198.18.0.0", "198.19.255.255", "2001:2::1"},
	"multicast":          {"224.0.0.1", "239.255.255.255", "ff02::1", "ff0e::1"},
	"reserved":           {"240.0.0.1", "255.255.255.254"},
	"broadcast":          {"255.255.255.255"},
	"6to4":               {"192.88.99.1", "2002:7f00:1::", "2002:a9fe:a9fe::1", "2002:808:808::1"},
	"Teredo":             {"2001::1", "2001:0:7f00:1::"},
	"ORCHID":             {"2001:10::1", "2001:20::1"},
	"NAT64":              {"64:ff9b::", "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "64:ff9b::808:808", "64:ff9b:1::1"},
	"unique local":       {"fc00::1", "fdff::1"},
	"site-local":         {"fec0::1"},
	"discard":            {"100::1"},
	"mapped":             {"::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:a9fe:a9fe"},
	"compatible":         {"::127.0.0.1", "::a00:1"},
	"unassigned":         {"4000::1", "8000::1"},
	"segment routing":    {"5f00::1"},
	"of a certain zone":  {"fe80::1%eth0", "2606:4700::1%lo"},
	"translated (SIIT)":  {"::ffff:0:7f00:1"},
	"local NAT64 prefix": {"64:ff9b:1:fffe::a00:1"},
}

func TestNoHiddenAddressIsPublic(t *testing.T) {
	for kind, addresses := range hidden {
		for _, a := range addresses {
			if isPublic(netip.MustParseAddr(a)) {
				t.Errorf("%s address %s passes as public", kind, a)
			}
		}
	}
	for _, a := range []string{"8.8.8.8", "1.1.1.1", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "172.15.255.255",
		"172.32.0.0", "169.253.255.255", "169.255.0.0", "198.17.255.255", "198.20.0.0", "223.255.255.255", "2606:4700::1111",
		"2a00:1450:4001::1", "2001:4860:4860::8888", "::ffff:8.8.8.8"} {
		if !isPublic(netip.MustParseAddr(a)) {
			t.Errorf("public address %s is refused", a)
		}
	}
}

// wrongField returns the message for the field "url" of a refusal.
func wrongField(t *testing.T, err error) string {
	t.Helper()
	var invalid task.Invalid
	if !errors.As(err, &invalid) || len(invalid) != 1 || invalid[0].Field != "url" {
		t.Fatalf("not a refusal of url: %v", err)
	}
	return invalid[0].Message
}

func TestURLsThatAreRefused(t *testing.T) {
	const (
		scheme   = "must start with https://"
		public   = "must not name an address that is not public"
		plain    = "must write an IPv4 address as four plain decimal numbers"
		host     = "must have a valid host name"
		port     = "must have a port of 443 or of 1024 to 65535"
		form     = "is not a valid URL"
		dot      = "must have a host name that doesn't end in a dot"
		full     = "must have a full host name, such as hooks.example.com"
		chars    = "must not hold spaces, control characters or backslashes"
		user     = "must not hold a user name or password"
		fragment = "must not hold a fragment"
		inside   = "names a host of a private network"
	)
	for _, row := range []struct{ name, url, message string }{
		{"nothing", "", "must not be empty"},
		{"2,049 bytes", "https://hooks.example.com/" + strings.Repeat("a", 2049-26), "must be at most 2048 bytes"},
		{"plain http", "http://hooks.example.com/", scheme},
		{"another scheme", "ftp://hooks.example.com/", scheme + " and a host"},
		{"a file", "file:///etc/passwd", scheme + " and a host"},
		{"gopher", "gopher://hooks.example.com:6379/_", scheme + " and a host"},
		{"no scheme", "hooks.example.com/x", scheme + " and a host"},
		{"a scheme left open", "//hooks.example.com/x", scheme + " and a host"},
		{"an opaque URL", "https:hooks.example.com", scheme + " and a host"},
		{"no host", "https:///x", scheme + " and a host"},
		{"only a port", "https://:8443/", host},
		{"a user name", "https://me@hooks.example.com/", user},
		{"a host hidden behind a user name", "https://hooks.example.com@127.0.0.1/", user},
		{"an empty user name", "https://@hooks.example.com/", user},
		{"a fragment", "https://hooks.example.com/#x", fragment},
		{"an empty fragment", "https://hooks.example.com/#", fragment},
		{"a space", "https://hooks.example.com/a b", chars},
		{"a line break", "https://hooks.example.com/\r\nX: y", chars},
		{"a NUL", "https://hooks.example.com/\x00", chars},
		{"a backslash", `https://hooks.example.com\@127.0.0.1/`, chars},
		{"broken UTF-8", "https://hooks.example.com/\xff", chars},
		{"a broken escape", "https://hooks.example.com/%zz", form},
		{"an escaped address", "https://%31%32%37.0.0.1/", form},
		{"port 0", "https://hooks.example.com:0/", port},
		{"port 22", "https://hooks.example.com:22/", port},
		{"port 80", "https://hooks.example.com:80/", port},
		{"port 65536", "https://hooks.example.com:65536/", port},
		{"an empty port", "https://hooks.example.com:/", port},
		{"a port with a zero in front", "https://hooks.example.com:08443/", port},
		{"loopback", "https://127.0.0.1/", public},
		{"loopback with a port", "https://127.0.0.1:8443/", public},
		{"loopback in one decimal number", "https://2130706433/", plain},
		{"loopback in hexadecimal", "https://0x7f000001/", plain},
		{"loopback in hexadecimal, upper case", "https://0X7F.0.0.1/", plain},
		{"loopback in octal", "https://0177.0.0.1/", plain},
		{"loopback in octal, one number", "https://017700000001/", plain},
		{"loopback shortened", "https://127.1/", plain},
		{"loopback with an empty hexadecimal", "https://127.0.0.0x/", plain},
		{"loopback with zeros in front", "https://127.000.000.001/", plain},
		{"zero", "https://0/", plain},
		{"loopback in full-width digits", "https://１２７.０.０.１/", public},
		{"loopback in circled digits", "https://①②⑦.⓪.⓪.①/", public},
		{"loopback with ideographic dots", "https://127。0。0。1/", public},
		{"an address and a dot", "https://127.0.0.1./", dot},
		{"a number too large", "https://256.256.256.256/", plain},
		{"five numbers", "https://1.2.3.4.5/", plain},
		{"a name that ends in a number", "https://hooks.example.1/", plain},
		{"IPv6 loopback", "https://[::1]/", public},
		{"IPv6 loopback in full", "https://[0:0:0:0:0:0:0:1]:8443/", public},
		{"a mapped private address", "https://[::ffff:10.0.0.1]/", public},
		{"a mapped public address", "https://[::ffff:8.8.8.8]/", public},
		{"an IPv6 zone", "https://[fe80::1%25eth0]/", public},
		{"a broken IPv6 address", "https://[::1/", form},
		{"an IPv6 address without brackets", "https://::1/", form},
		{"localhost", "https://localhost/", full},
		{"a machine's short name", "https://db/", full},
		{"a dot at the end", "https://hooks.example.com./", dot},
		{"an ideographic dot at the end", "https://hooks.example.com。/", dot},
		{"an empty label", "https://hooks..example.com/", host},
		{"an underscore", "https://my_hooks.example.com/", host},
		{"a label of 64", "https://" + strings.Repeat("a", 64) + ".example.com/", host},
		{"a name of 254", "https://" + strings.Repeat("a.", 126) + "ab/", host},
		{"broken punycode", "https://xn--0.example.com/", host},
		{"a name that is nobody's in localhost's zone", "https://other.localhost/", inside},
		{"a name of a machine's own domain", "https://me.localdomain/", inside},
		{"a name of a local network", "https://printer.local/", inside},
		{"a name of a cloud's inside", "https://metadata.google.internal/computeMetadata/v1/", inside},
		{"a name of a home", "https://router.home.arpa/", inside},
		{"a name of a private address", "https://private.example.com/", "leads to an address that is not public"},
		{"a name of which one address is private", "https://mixed.example.com/", "leads to an address that is not public"},
		{"a name of the IPv6 loopback", "https://six.example.com/", "leads to an address that is not public"},
		{"a name in localhost's zone", "https://me.localhost/", "leads to an address that is not public"},
	} {
		t.Run(row.name, func(t *testing.T) {
			a := Addresses{Resolver: resolver(t, map[string][][]string{
				"hooks.example.com.":   {{"93.184.215.14"}},
				"private.example.com.": {{"10.0.0.7"}},
				"mixed.example.com.":   {{"93.184.215.14", "192.168.1.1"}},
				"six.example.com.":     {{"::1"}},
				"me.localhost.":        {{"127.0.0.1"}},
			})}
			_, err := a.Check(context.Background(), row.url)
			if got := wrongField(t, err); got != row.message {
				t.Errorf("%q, want %q", got, row.message)
			}
		})
	}
	for kind, addresses := range hidden {
		for _, address := range addresses {
			url := "https://" + address + "/"
			if strings.Contains(address, ":") {
				url = "https://[" + strings.ReplaceAll(address, "%", "%25") + "]/"
			}
			_, err := Addresses{}.Check(context.Background(), url)
			if got := wrongField(t, err); got != public {
				t.Errorf("%s address %s: %q", kind, address, got)
			}
		}
	}
}

func TestURLsThatAreTaken(t *testing.T) {
	a := Addresses{
		Local: []netip.AddrPort{netip.MustParseAddrPort("127.0.0.1:9000"), netip.MustParseAddrPort("[::1]:9000")},
		Resolver: resolver(t, map[string][][]string{
			"hooks.example.com.":         {{"93.184.215.14", "2606:2800:21f::1"}},
			"xn--bcher-kva.example.com.": {{"93.184.215.14"}},
			"local.example.com.":         {{"127.0.0.1"}},
			"empty.example.com.":         {{}},
			"here.internal.":             {{"127.0.0.1"}},
		}),
	}
	for _, row := range []struct{ name, url, stored string }{
		{"a plain one", "https://hooks.example.com/in?a=b&c=%20", "https://hooks.example.com/in?a=b&c=%20"},
		{"upper case", "HTTPS://Hooks.Example.COM/In", "https://hooks.example.com/In"},
		{"no path", "https://hooks.example.com", "https://hooks.example.com"},
		{"port 443", "https://hooks.example.com:443/", "https://hooks.example.com/"},
		{"another port", "https://hooks.example.com:8443/", "https://hooks.example.com:8443/"},
		{"an international name", "https://Bücher.example.com/ü", "https://xn--bcher-kva.example.com/%C3%BC"},
		{"the same name in punycode", "https://xn--bcher-kva.example.com/", "https://xn--bcher-kva.example.com/"},
		{"a public IPv4 address", "https://93.184.215.14/", "https://93.184.215.14/"},
		{"a public IPv6 address", "https://[2606:2800:21F:0::1]:8443/", "https://[2606:2800:21f::1]:8443/"},
		{"a local address that the environment names", "http://127.0.0.1:9000/x", "http://127.0.0.1:9000/x"},
		{"the same by https", "https://127.0.0.1:9000/x", "https://127.0.0.1:9000/x"},
		{"a local IPv6 address that it names", "http://[::1]:9000/x", "http://[::1]:9000/x"},
		{"a name that leads there", "https://local.example.com:9000/", "https://local.example.com:9000/"},
		{"a private name that leads there", "https://here.internal:9000/", "https://here.internal:9000/"},
		{"a name that does not exist yet", "https://nowhere.example.com/", "https://nowhere.example.com/"},
		{"a name without addresses yet", "https://empty.example.com/", "https://empty.example.com/"},
	} {
		t.Run(row.name, func(t *testing.T) {
			got, err := a.Check(context.Background(), row.url)
			if err != nil || got != row.stored {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
	for _, row := range []struct{ name, url string }{
		{"another local port", "http://127.0.0.1:9001/"},
		{"another local address", "https://127.0.0.2:9000/"},
		{"http to a name that leads there", "http://local.example.com:9000/"},
		{"a name that leads to another local port", "https://local.example.com:9001/"},
		{"http to a public address", "http://93.184.215.14:9000/"},
	} {
		t.Run("but not "+row.name, func(t *testing.T) {
			if got, err := a.Check(context.Background(), row.url); err == nil {
				t.Errorf("taken as %q", got)
			}
		})
	}
}

// Every way in is tried with a real listener behind it: what counts is that nobody ever connects.
func TestNoConnectionToWhatIsNotPublic(t *testing.T) {
	ports, connections := trap(t, "127.0.0.1:0", "[::1]:0")
	four, six := ports[0], ports[1]
	redirected := newReceiver(t, redirectTo("https://127.0.0.1:"+four+"/"))
	for _, row := range []struct {
		name, url string
		problem   Problem
	}{
		{"loopback", "https://127.0.0.1:" + four, ProblemURL},
		{"loopback in decimal", "https://2130706433:" + four, ProblemURL},
		{"loopback in hexadecimal", "https://0x7f000001:" + four, ProblemURL},
		{"loopback in octal", "https://0177.0.0.1:" + four, ProblemURL},
		{"loopback shortened", "https://127.1:" + four, ProblemURL},
		{"localhost", "https://localhost:" + four, ProblemURL},
		{"IPv6 loopback", "https://[::1]:" + six, ProblemURL},
		{"IPv6 mapped", "https://[::ffff:127.0.0.1]:" + four, ProblemURL},
		{"unspecified", "https://0.0.0.0:" + four, ProblemURL},
		{"metadata", "https://169.254.169.254/latest/meta-data/", ProblemURL},
		{"unique local", "https://[fd00::1]:" + six, ProblemURL},
		{"plain http", "http://public.example.com:" + four, ProblemURL},
		{"a name of a private address", "https://private.example.com:" + four, ProblemAddress},
		{"a name of the loopback", "https://loop.example.com:" + four, ProblemAddress},
		{"a name of the IPv6 loopback", "https://six.example.com:" + six, ProblemAddress},
		{"a name of both", "https://both.example.com:" + four, ProblemAddress},
		{"a name of a mapped loopback", "https://mapped.example.com:" + four, ProblemAddress},
		{"a name that does not exist", "https://nowhere.example.com:" + four, ProblemName},
		{"a redirect", redirected.url, ProblemRedirect},
	} {
		t.Run(row.name, func(t *testing.T) {
			a := Addresses{
				Local: []netip.AddrPort{redirected.at}, // of all things on the loopback only the one that redirects
				Resolver: resolver(t, map[string][][]string{
					"private.example.com.": {{"10.0.0.7"}},
					"loop.example.com.":    {{"127.0.0.1"}},
					"six.example.com.":     {{"::1"}},
					"both.example.com.":    {{"127.0.0.1", "::1"}},
					"mapped.example.com.":  {{"::ffff:127.0.0.1"}},
				}),
			}
			o := NewSender(a, redirected.roots).Send(context.Background(), aRequest(row.url), time.Now())
			if o.Result != Failed || o.Problem != row.problem {
				t.Errorf("%+v, want %s", o, row.problem)
			}
		})
	}
	t.Run("a name that changes its address after the check", func(t *testing.T) {
		for turn := 1; turn <= 3; turn++ {
			// Public for the first look-ups, then ours. The check takes one, each attempt another.
			answers := make([][]string, turn, turn+1)
			for i := range answers {
				answers[i] = []string{"192.0.43.7"}
			}
			a := Addresses{Resolver: resolver(t, map[string][][]string{"rebind.example.com.": append(answers, []string{"127.0.0.1"})})}
			stored, err := a.Check(context.Background(), "https://rebind.example.com:"+four+"/")
			if err != nil {
				t.Fatal(err)
			}
			for range turn - 1 {
				a.Resolver.LookupNetIP(context.Background(), "ip", "rebind.example.com.")
			}
			o := NewSender(a, nil).Send(context.Background(), aRequest(stored), time.Now())
			if o.Problem != ProblemAddress {
				t.Errorf("turn %d: %+v", turn, o)
			}
		}
	})
	t.Run("a proxy from the environment", func(t *testing.T) {
		// net/http reads those variables once in a process, so setting them here would show nothing.
		if NewSender(Addresses{}, nil).client.Transport.(*http.Transport).Proxy != nil {
			t.Error("somebody else may dial for us")
		}
	})
	if n := connections.Load(); n != 0 {
		t.Errorf("%d connections were made", n)
	}
}

func FuzzURL(f *testing.F) {
	for _, s := range []string{"https://hooks.example.com:8443/a?b", "https://[::1]/", "https://0x7f.1/", "https://１.２.３.４/", "https://a。b/"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		u, message := Addresses{}.parse(raw)
		if message != "" {
			return
		}
		again, message := Addresses{}.parse(u.String())
		if message != "" || again.String() != u.String() {
			t.Fatalf("%q is stored as %q, which is then %q %s", raw, u, again, message)
		}
		host := u.Hostname()
		if ip, err := netip.ParseAddr(host); err == nil && !isPublic(ip) || u.Scheme != "https" || u.User != nil {
			t.Fatalf("%q was taken as %q", raw, u)
		}
		if strings.ContainsFunc(host, func(r rune) bool { return r >= 0x80 }) {
			t.Fatalf("%q keeps a host that is not ASCII", raw)
		}
	})
}
