"""A nonprofit's application to a partner: invites, hosted form, documents, submissions."""
