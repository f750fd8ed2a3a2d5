"""Sign-on at a partner's own provider, by OpenID Connect."""
