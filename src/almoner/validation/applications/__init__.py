"""A nonprofit's application to a partner: invites, the hosted form, documents, submissions."""
