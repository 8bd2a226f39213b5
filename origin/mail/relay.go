package mail

import (
	"context"
	"errors"
	"fmt"
	"net/mail"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"

	gomail "github.com/wneessen/go-mail"
)

// sendTimeout limits one mail, from the connection to the relay to its answer: content filters
// of relays take seconds, and RFC 5321, section 4.5.3.2 allows minutes.
const sendTimeout = time.Minute

// Relay is the SMTP server that delivers mail. It is safe for concurrent use.
type Relay struct {
	from    *mail.Address
	host    string
	options []gomail.Option
}

// ParseRelay returns the relay at a URL: smtps://user:password@host:465 for TLS, or
// smtp://host:587, which requires STARTTLS. Only smtp://127.0.0.1:25?tls=off, and other
// addresses of this machine, are used without TLS. Errors do not contain the password.
func ParseRelay(address, from string) (*Relay, error) {
	sender, err := mail.ParseAddress(from)
	if err != nil {
		return nil, fmt.Errorf("%q is not a sender such as Fieldmark <geo@marks.example>", from)
	}
	u, err := url.Parse(address)
	if err != nil { // its text may contain the password
		return nil, errors.New("the URL of the SMTP relay is malformed; want smtps://user:password@host:465")
	}
	fail := func(detail string) (*Relay, error) {
		return nil, fmt.Errorf("the URL of the SMTP relay %s: %s", u.Redacted(), detail)
	}
	r := &Relay{from: sender, host: u.Hostname(), options: []gomail.Option{gomail.WithTimeout(sendTimeout)}}
	port := 587
	switch {
	case u.Hostname() == "" || u.Path != "" && u.Path != "/":
		return fail("want smtps://user:password@host:465")
	case u.Scheme == "smtps" && u.RawQuery == "":
		port, r.options = 465, append(r.options, gomail.WithSSL())
	case u.Scheme == "smtp" && u.RawQuery == "":
		r.options = append(r.options, gomail.WithTLSPolicy(gomail.TLSMandatory))
	case u.Scheme == "smtp" && u.RawQuery == "tls=off":
		if ip, err := netip.ParseAddr(u.Hostname()); u.Hostname() != "localhost" && (err != nil || !ip.IsLoopback()) {
			return fail("tls=off needs an address of this machine, such as 127.0.0.1")
		}
		r.options = append(r.options, gomail.WithTLSPolicy(gomail.NoTLS))
	default:
		return fail("want the scheme smtps, or smtp, and no query but tls=off")
	}
	if text := u.Port(); text != "" {
		if port, err = strconv.Atoi(text); err != nil || port < 1 || port > 65535 {
			return fail("the port must be 1 to 65535")
		}
	}
	r.options = append(r.options, gomail.WithPort(port))
	if u.User != nil {
		password, _ := u.User.Password()
		r.options = append(r.options, gomail.WithUsername(u.User.Username()), gomail.WithPassword(password),
			gomail.WithSMTPAuth(gomail.SMTPAuthAutoDiscover))
	}
	return r, nil
}

// message is a mail in plain text.
type message struct {
	id          string // of the Message-ID, without its host: the same in every attempt
	to          string
	subject     string // one line
	text        string
	unsubscribe string // URL; empty: the mail asks for confirmation, and no list exists yet
}

// ErrRefused is in the error of a mail whose recipient the relay refused permanently.
var ErrRefused = errors.New("the address was refused")

// send delivers a message to the relay. The error wraps ErrRefused after a reply of 5xx to RCPT.
func (r *Relay) send(ctx context.Context, m message) error {
	ctx, cancel := context.WithTimeout(ctx, sendTimeout)
	defer cancel()
	// Without the name of a library: relays and recipients need not know it.
	msg := gomail.NewMsg(gomail.WithNoDefaultUserAgent())
	msg.FromMailAddress(r.from)
	if err := msg.To(m.to); err != nil {
		return fmt.Errorf("%w: %w", ErrRefused, err)
	}
	msg.SetMessageIDWithValue(m.id + r.from.Address[strings.LastIndexByte(r.from.Address, '@'):])
	msg.SetDate()
	msg.Subject(m.subject)
	msg.SetGenHeader("Auto-Submitted", "auto-generated") // RFC 3834: no out-of-office replies
	if m.unsubscribe != "" {
		if err := msg.SetListUnsubscribeOneClick(m.unsubscribe); err != nil { // RFC 8058 allows https only
			msg.SetListUnsubscribe(m.unsubscribe)
		}
	}
	msg.SetBodyString(gomail.TypeTextPlain, m.text)
	client, err := gomail.NewClient(r.host, r.options...)
	if err != nil {
		return fmt.Errorf("configure the SMTP client: %w", err)
	}
	err = client.DialAndSendWithContext(ctx, msg)
	// Other errors, also 5xx to the sender or the data, may be of the relay and are tried
	// again.
	if reply := new(gomail.SendError); errors.As(err, &reply) && reply.Reason == gomail.ErrSMTPRcptTo &&
		reply.ErrorCode()/100 == 5 {
		return fmt.Errorf("%w: %w", ErrRefused, err)
	}
	return err
}
