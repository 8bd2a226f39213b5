package main

import (
	"net/netip"
	"strings"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/cmd/fieldmark/command"
	"github.com/fieldmark/fieldmark/origin/access/oidc"
)

// signOnSettings name the OpenID Connect provider of administrators.
type signOnSettings struct {
	OIDCIssuer     string         `name:"oidc-issuer" env:"FIELDMARK_OIDC_ISSUER" placeholder:"URL" help:"OpenID Connect provider for administrators; passwords only if unset. Register the public address followed by /admin/sign-in/return as redirect URL."`
	OIDCClientID   string         `name:"oidc-client-id" env:"FIELDMARK_OIDC_CLIENT_ID" placeholder:"ID" help:"Client id at the provider."`
	OIDCSecret     string         `name:"oidc-client-secret" env:"FIELDMARK_OIDC_CLIENT_SECRET" placeholder:"SECRET" help:"Client secret; none for a public client."`
	OIDCSecretFile string         `name:"oidc-client-secret-file" env:"FIELDMARK_OIDC_CLIENT_SECRET_FILE" type:"path" placeholder:"FILE" help:"File that holds the client secret."`
	OIDCScopes     []string       `name:"oidc-scopes" env:"FIELDMARK_OIDC_SCOPES" default:"email" help:"Scopes to request besides openid."`
	OIDCClaim      string         `name:"oidc-claim" env:"FIELDMARK_OIDC_CLAIM" default:"groups" help:"Claim that decides who may sign in. It may be a path such as realm_access.roles; email is used only if the provider has verified it."`
	OIDCAdmins     []string       `name:"oidc-admins" env:"FIELDMARK_OIDC_ADMINS" placeholder:"VALUE" help:"Values of the claim that give the role admin."`
	OIDCViewers    []string       `name:"oidc-viewers" env:"FIELDMARK_OIDC_VIEWERS" placeholder:"VALUE" help:"Values of the claim that give the role viewer."`
	OIDCName       string         `name:"oidc-name" env:"FIELDMARK_OIDC_NAME" placeholder:"NAME" help:"Name of the provider on the sign-in button; the issuer's host if unset."`
	OIDCNetworks   []netip.Prefix `name:"oidc-networks" env:"FIELDMARK_OIDC_NETWORKS" placeholder:"CIDR" help:"Private networks that the provider may be in; none by default."`
	OIDCOnly       bool           `name:"oidc-only" env:"FIELDMARK_OIDC_ONLY" help:"No password sign-in at /admin."`
}

// provider returns the provider, or nil if no issuer is set. It connects to nothing.
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
		Rules: oidc.Rules{Claim: o.OIDCClaim, Admins: o.OIDCAdmins, Viewers: o.OIDCViewers}, Label: o.OIDCName,
		Allow: o.OIDCNetworks,
	})
}
