package webhook

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unicode"
	"unicode/utf8"

	"code.dny.dev/ssrf"
	"golang.org/x/net/idna"

	"baton/internal/task"
)

const (
	maxURL        = 2048
	resolveWithin = 5 * time.Second
	connectWithin = 5 * time.Second
	// Below this only 443: TLS to another protocol's well-known port is nobody's webhook.
	lowestPort = 1024
)

// errAddress is a dial that was refused before the first packet.
var errAddress = errors.New("webhook: not a public address")

// Addresses says which receivers may be called: https, on public addresses. That is looked at when a hook is registered
// (Check), for a clear answer, and at each dial (the guard), on the very address dialed: a name may lead elsewhere by then.
// Safe for concurrent use; the zero value is the strict one.
type Addresses struct {
	// Local are addresses that may be called although they aren't public, and by plain http too where the URL names one
	// literally; the port 0 stands for every port. For development on one machine: set from the environment only, never
	// from anything that a user sends.
	Local []netip.AddrPort
	// Resolver is the system's when nil.
	Resolver *net.Resolver
}

// everything that IANA lists as special, multicast, and of IPv6 all that isn't global unicast (so unique local, link
// local, IPv4-mapped and NAT64 with whatever it embeds).
var public = ssrf.New(ssrf.WithAnyPort(), ssrf.WithAnyNetwork())

// isPublic takes IPv4 in its IPv6-mapped form for what it is: that is how it is dialed.
func isPublic(ip netip.Addr) bool { return public.SafeAddr(ip.Unmap()) == nil }

// ParseLocal reads Addresses.Local from a text such as 127.0.0.1:0,[::1]:8443; none from an empty one.
func ParseLocal(s string) (local []netip.AddrPort, err error) {
	for text := range strings.SplitSeq(s, ",") {
		if text = strings.TrimSpace(text); text == "" {
			continue
		}
		at, err := netip.ParseAddrPort(text)
		if err != nil {
			return nil, fmt.Errorf("webhook: local addresses: %w", err)
		}
		local = append(local, at)
	}
	return local, nil
}

func (a Addresses) isLocal(target netip.AddrPort) bool {
	return slices.ContainsFunc(a.Local, func(l netip.AddrPort) bool {
		return l == target || l.Port() == 0 && l.Addr() == target.Addr()
	})
}

// guard is a net.Dialer's Control: it runs for each address of a name, after the last look-up and before the connect.
func (a Addresses) guard(_, address string, _ syscall.RawConn) error {
	target, err := netip.ParseAddrPort(address)
	if err != nil {
		return errAddress
	}
	target = netip.AddrPortFrom(target.Addr().Unmap(), target.Port())
	if a.isLocal(target) || isPublic(target.Addr()) {
		return nil
	}
	return errAddress
}

// dialer dials nothing but what the guard lets through.
func (a Addresses) dialer() *net.Dialer {
	return &net.Dialer{Timeout: connectWithin, Resolver: a.Resolver, Control: a.guard}
}

// Check returns the URL in the form in which it is stored and called (lower-case host, international names in ASCII), or a
// task.Invalid for the field "url". It looks the name up, within 5 s: every address it has must be public. One that has
// none now is taken, unless its zone is never public: that a look-up fails is not the owner's fault, and names are often
// made after what they are for. Until it has an address, deliveries fail with ProblemName.
func (a Addresses) Check(ctx context.Context, raw string) (string, error) {
	u, message := a.parse(raw)
	if message != "" {
		return "", invalidURL(message)
	}
	if _, err := netip.ParseAddr(u.Hostname()); err == nil {
		return u.String(), nil // parse has judged it
	}
	ctx, cancel := context.WithTimeout(ctx, resolveWithin)
	defer cancel()
	resolver := a.Resolver
	if resolver == nil {
		resolver = net.DefaultResolver
	}
	// The dot keeps the search list of the machine's own network out.
	ips, err := resolver.LookupNetIP(ctx, "ip", u.Hostname()+".")
	if (err != nil || len(ips) == 0) && isPrivateName(u.Hostname()) {
		return "", invalidURL("names a host of a private network")
	}
	for _, ip := range ips {
		if !isPublic(ip) && !a.isLocal(netip.AddrPortFrom(ip.Unmap(), portOf(u))) {
			// Which address stays unsaid: it would tell a stranger about our network's names.
			return "", invalidURL("leads to an address that is not public")
		}
	}
	return u.String(), nil
}

// privateZones are the names that mean something only inside of a machine or a network (RFC 6761, 6762, 8375, and ICANN's
// resolution 2024.07.29.06 on .internal).
var privateZones = []string{".localhost", ".localdomain", ".local", ".internal", ".home.arpa"}

func isPrivateName(host string) bool {
	return slices.ContainsFunc(privateZones, func(zone string) bool { return strings.HasSuffix("."+host, zone) })
}

func invalidURL(message string) error {
	return task.Invalid{{Field: "url", Message: message}}
}

// parse is Check without the look-up: message says what is wrong, "" when nothing is.
func (a Addresses) parse(raw string) (u *url.URL, message string) {
	if raw == "" {
		return nil, "must not be empty"
	}
	if len(raw) > maxURL {
		return nil, "must be at most 2048 bytes"
	}
	if !utf8.ValidString(raw) || strings.ContainsFunc(raw, func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r) || r == '\\'
	}) {
		return nil, "must not hold spaces, control characters or backslashes"
	}
	u, err := url.Parse(raw)
	switch {
	case err != nil:
		return nil, "is not a valid URL"
	case u.Scheme != "https" && u.Scheme != "http" || u.Opaque != "" || u.Host == "":
		return nil, "must start with https:// and a host"
	case u.User != nil:
		return nil, "must not hold a user name or password"
	case strings.Contains(raw, "#"):
		return nil, "must not hold a fragment"
	}
	port, portText, ok := uint16(443), "", true
	if rest := strings.TrimPrefix(u.Host, hostText(u.Host)); rest != "" {
		portText = strings.TrimPrefix(rest, ":")
		port, ok = parsePort(portText)
	}
	if !ok {
		return nil, "must have a port of 443 or of 1024 to 65535"
	}
	host, ip, message := parseHost(u.Hostname())
	if message != "" {
		return nil, message
	}
	local := ip.IsValid() && a.isLocal(netip.AddrPortFrom(ip, port))
	if ip.IsValid() && !local && !isPublic(ip) {
		return nil, "must not name an address that is not public"
	}
	if u.Scheme != "https" && !local {
		return nil, "must start with https://"
	}
	u.Host = host
	if ip.Is6() {
		u.Host = "[" + host + "]"
	}
	if portText != "" && (port != 443 || u.Scheme != "https") {
		u.Host += ":" + portText
	}
	return u, ""
}

// hostText is the host of an authority with its brackets, without ":port".
func hostText(authority string) string {
	if end := strings.LastIndexByte(authority, ']'); end >= 0 {
		return authority[:end+1]
	}
	host, _, _ := strings.Cut(authority, ":")
	return host
}

func parsePort(s string) (port uint16, ok bool) {
	n, err := strconv.ParseUint(s, 10, 16)
	if err != nil || s[0] == '0' || n != 443 && n < lowestPort {
		return 0, false
	}
	return uint16(n), true
}

func portOf(u *url.URL) uint16 {
	if port, ok := parsePort(u.Port()); ok {
		return port
	}
	return 443
}

// parseHost returns the host in ASCII, and the address when it is one.
func parseHost(raw string) (host string, ip netip.Addr, message string) {
	if strings.Contains(raw, ":") {
		ip, err := netip.ParseAddr(raw)
		switch {
		case err != nil:
			return "", netip.Addr{}, "is not a valid URL"
		case ip.Zone() != "" || ip.Is4In6():
			return "", netip.Addr{}, "must not name an address that is not public"
		}
		return ip.String(), ip, ""
	}
	// First to ASCII, then judge: full-width digits and ideographic dots become plain ones here.
	host, err := idna.Lookup.ToASCII(raw)
	switch {
	case strings.HasSuffix(raw, ".") || err == nil && strings.HasSuffix(host, "."):
		return "", netip.Addr{}, "must have a host name that doesn't end in a dot"
	case err != nil || host == "" || len(host) > 253:
		return "", netip.Addr{}, "must have a valid host name"
	}
	labels := strings.Split(host, ".")
	if last := labels[len(labels)-1]; isNumber(last) {
		// Resolvers and browsers take such names for addresses in decimal, octal, hexadecimal or shortened form.
		ip, err := netip.ParseAddr(host)
		if err != nil {
			return "", netip.Addr{}, "must write an IPv4 address as four plain decimal numbers"
		}
		return host, ip, ""
	}
	if len(labels) == 1 {
		return "", netip.Addr{}, "must have a full host name, such as hooks.example.com"
	}
	for _, l := range labels {
		if l == "" || len(l) > 63 {
			return "", netip.Addr{}, "must have a valid host name"
		}
	}
	return host, netip.Addr{}, ""
}

// isNumber is the test of the WHATWG URL standard, "ends in a number".
func isNumber(label string) bool {
	if hex, ok := strings.CutPrefix(label, "0x"); ok {
		return strings.Trim(hex, "0123456789abcdef") == ""
	}
	return label != "" && strings.Trim(label, "0123456789") == ""
}
