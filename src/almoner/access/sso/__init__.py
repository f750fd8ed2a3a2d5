"""Single sign-on at a partner's own identity provider, by OpenID Connect."""
