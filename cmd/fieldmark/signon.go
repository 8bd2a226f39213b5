package main

import (
	"net/netip"
	"strings"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/cmd/fieldmark/command"
	"github.com/fieldmark/fieldmark/origin/access/oidc"
)

// signOnSettings are the OpenID Connect provider that administrators may sign in at.
type signOnSettings struct {
	OIDCIssuer     string         `name:"oidc-issuer" env:"FIELDMARK_OIDC_ISSUER" placeholder:"URL" help:"OpenID Connect provider administrators may sign in at; passwords alone if unset. Register the public address with /admin/sign-in/return there."`
	OIDCClientID   string         `name:"oidc-client-id" env:"FIELDMARK_OIDC_CLIENT_ID" placeholder:"ID" help:"What the provider knows this Fieldmark by."`
	OIDCSecret     string         `name:"oidc-client-secret" env:"FIELDMARK_OIDC_CLIENT_SECRET" placeholder:"SECRET" help:"The secret that goes with it; none for a public client."`
	OIDCSecretFile string         `name:"oidc-client-secret-file" env:"FIELDMARK_OIDC_CLIENT_SECRET_FILE" type:"path" placeholder:"FILE" help:"File that holds it."`
	OIDCScopes     []string       `name:"oidc-scopes" env:"FIELDMARK_OIDC_SCOPES" default:"email" help:"Scopes asked for beside openid."`
	OIDCClaim      string         `name:"oidc-claim" env:"FIELDMARK_OIDC_CLAIM" default:"groups" help:"Claim that decides who may enter; realm_access.roles is a path, email counts only where the provider says that it is verified."`
	OIDCAdmins     []string       `name:"oidc-admins" env:"FIELDMARK_OIDC_ADMINS" placeholder:"VALUE" help:"Values of that claim that make administrators."`
	OIDCViewers    []string       `name:"oidc-viewers" env:"FIELDMARK_OIDC_VIEWERS" placeholder:"VALUE" help:"Values of that claim that let somebody look."`
	OIDCName       string         `name:"oidc-name" env:"FIELDMARK_OIDC_NAME" placeholder:"NAME" help:"What the button says people sign in with; the issuer's host if unset."`
	OIDCNetworks   []netip.Prefix `name:"oidc-networks" env:"FIELDMARK_OIDC_NETWORKS" placeholder:"CIDR" help:"Private networks the provider may be in; none by default."`
	OIDCOnly       bool           `name:"oidc-only" env:"FIELDMARK_OIDC_ONLY" help:"Refuse passwords at /admin."`
}

// provider makes the provider, or none where no issuer is set. It asks nobody.
func (o *signOnSettings) provider(publicURL string) (*oidc.Provider, error) {
	if o.OIDCIssuer == "" {
		return nil, nil
	}
	secret, err := command.ReadSecret(o.OIDCSecret, o.OIDCSecretFile)
	if err != nil {
		return nil, err
	}
	back := ""
	if publicURL != "" {
		back = strings.TrimSuffix(publicURL, "/") + fieldmark.PathSignedOn
	}
	return oidc.New(oidc.Config{
		Issuer: o.OIDCIssuer, ClientID: o.OIDCClientID, ClientSecret: secret, RedirectURL: back, Scopes: o.OIDCScopes,
		Rules: oidc.Rules{Claim: o.OIDCClaim, Admins: o.OIDCAdmins, Viewers: o.OIDCViewers}, Label: o.OIDCName, Allow: o.OIDCNetworks,
	})
}
